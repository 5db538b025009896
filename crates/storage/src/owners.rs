//! Organisations, their users, and the identities that they know.

use domain::identity::IdentityType;
use domain::{Actor, Identity, IdentityId, Organization, OrganizationId, Timestamp, User};

use crate::apply::Scope;
use crate::dialect::{Columns, Db, micros, params};
use crate::error::StoreError;
use crate::store::Store;
use crate::texts;

impl Store {
    /// The identity that an organisation knows by this key.
    pub async fn identity_by_key(&self, owner: OrganizationId, key: &str) -> Result<Option<Identity>, StoreError> {
        const SQL: &str = "select id, organization_id, key, name, kind, created_at from identity \
                           where organization_id = $1 and key = $2";
        let key = key.to_owned();
        self.read(move |db| db.first(SQL, params![owner.as_bytes(), key], read_identity)).await
    }
}

/// Reads an identity's id, organisation, key, name, kind and time.
pub(crate) fn read_identity(row: &mut Columns<'_>) -> Result<Identity, StoreError> {
    Ok(Identity {
        id: row.id()?,
        organization: row.id()?,
        key: row.text()?,
        name: row.text()?,
        kind: row.word(IdentityType::parse)?,
        created_at: row.time()?,
    })
}

/// Fails where the actor's organisation does not know such a person.
pub(crate) fn check_identity(scope: &Scope<'_>, identity: IdentityId) -> Result<(), StoreError> {
    const SQL: &str = "select 1 from identity where id = $1 and organization_id = $2";
    if scope.db.exists(SQL, params![identity.as_bytes(), scope.owner_bytes()])? {
        return Ok(());
    }
    Err(StoreError::not_found("identity", identity))
}

/// Makes the organisation and user of a house that has not been divided, unless they are there.
pub(crate) fn ensure_default(db: &Db, now: Timestamp) -> Result<(), StoreError> {
    const SQL: &str = "select 1 from user_account where id = $1";
    let actor = Actor::default_user();
    if db.exists(SQL, params![actor.user.as_bytes()])? {
        return Ok(());
    }
    db.begin()?;
    let scope = Scope { db, actor, at: now };
    let organization = Organization { id: actor.organization, name: "default".to_owned(), created_at: now };
    let user = User { id: actor.user, organization: actor.organization, name: "default".to_owned(), created_at: now };
    let made =
        insert_organization(&scope, &organization).and_then(|()| insert_user(&scope, &user)).and_then(|()| db.commit());
    if made.is_err() {
        db.roll_back()?;
    }
    made
}

pub(crate) fn insert_organization(scope: &Scope<'_>, organization: &Organization) -> Result<(), StoreError> {
    const SQL: &str = "insert into organization (id, name, created_at) values ($1, $2, $3)";
    scope.check_owner("organization", organization.id)?;
    texts::check("an organisation's name", &organization.name)?;
    let params = params![organization.id.as_bytes(), organization.name, micros(organization.created_at)];
    Scope::named(scope.db.execute(SQL, params), "organization", organization.id).map(drop)
}

pub(crate) fn insert_user(scope: &Scope<'_>, user: &User) -> Result<(), StoreError> {
    const SQL: &str = "insert into user_account (id, organization_id, name, created_at) values ($1, $2, $3, $4)";
    scope.check_owner("user", user.organization)?;
    texts::check("a user's name", &user.name)?;
    let params = params![user.id.as_bytes(), user.organization.as_bytes(), user.name, micros(user.created_at)];
    Scope::named(scope.db.execute(SQL, params), "user", user.id).map(drop)
}

pub(crate) fn insert_identity(scope: &Scope<'_>, identity: &Identity) -> Result<(), StoreError> {
    const SQL: &str = "insert into identity (id, organization_id, key, name, kind, created_at) \
                       values ($1, $2, $3, $4, $5, $6)";
    scope.check_owner("identity", identity.organization)?;
    texts::check("an identity's key", &identity.key)?;
    texts::check("an identity's name", &identity.name)?;
    let inserted = scope.db.execute(
        SQL,
        params![
            identity.id.as_bytes(),
            identity.organization.as_bytes(),
            identity.key,
            identity.name,
            identity.kind.as_str(),
            micros(identity.created_at),
        ],
    );
    Scope::named(inserted, "identity", &identity.key).map(drop)
}
