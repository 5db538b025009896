//! Which work on stored rows has been done, so that it is done once.

use domain::OrganizationId;

use crate::apply::Scope;
use crate::dialect::{micros, params};
use crate::error::StoreError;
use crate::store::Store;
use crate::texts;

impl Store {
    /// Whether [`Change::MarkDone`](crate::Change::MarkDone) was committed for this work.
    pub async fn is_done(&self, owner: OrganizationId, name: &str) -> Result<bool, StoreError> {
        const SQL: &str = "select 1 from upkeep where organization_id = $1 and name = $2";
        let name = name.to_owned();
        self.read(move |db| db.exists(SQL, params![owner.as_bytes(), name])).await
    }
}

pub(crate) fn mark_done(scope: &Scope<'_>, name: &str) -> Result<(), StoreError> {
    const SQL: &str = "insert into upkeep (organization_id, name, done_at) values ($1, $2, $3) on conflict do nothing";
    texts::check("the name of some upkeep", name)?;
    scope.db.execute(SQL, params![scope.owner_bytes(), name, micros(scope.at)]).map(drop)
}
