//! Runs and their steps.

use domain::{OrganizationId, Run, RunId, RunStatus, Step, StepStatus, StopReason, Timestamp};

use crate::apply::Scope;
use crate::commit::RunUpdate;
use crate::dialect::{Columns, Db, micros, params, whole};
use crate::error::StoreError;
use crate::store::Store;
use crate::texts;

impl Store {
    /// One run.
    pub async fn run(&self, owner: OrganizationId, run: RunId) -> Result<Run, StoreError> {
        self.read(move |db| load(db, owner, run)).await
    }

    /// The steps of a run, oldest first.
    pub async fn steps_of_run(&self, owner: OrganizationId, run: RunId) -> Result<Vec<Step>, StoreError> {
        const SQL: &str = "select s.id, s.organization_id, s.agent_id, r.id, s.model, s.context_window, \
                           s.prompt_tokens, s.completion_tokens, s.total_tokens, s.cached_input_tokens, \
                           s.cache_write_tokens, s.reasoning_tokens, s.stop_reason, s.status, s.created_at \
                           from run r join step s on s.run_ordinal = r.ordinal \
                           where r.id = $1 and s.organization_id = $2 order by s.created_at, s.id";
        self.read(move |db| {
            db.consistently(|db| {
                load(db, owner, run)?;
                db.all(SQL, params![run.as_bytes(), owner.as_bytes()], read_step)
            })
        })
        .await
    }
}

fn load(db: &Db, owner: OrganizationId, run: RunId) -> Result<Run, StoreError> {
    const SQL: &str = "select id, organization_id, agent_id, conversation_id, status, stop_reason, error, background, \
                       prompt_tokens, completion_tokens, total_tokens, cached_input_tokens, cache_write_tokens, \
                       reasoning_tokens, step_count, created_at, completed_at from run \
                       where id = $1 and organization_id = $2";
    db.first(SQL, params![run.as_bytes(), owner.as_bytes()], read)?.ok_or_else(|| StoreError::not_found("run", run))
}

fn read(row: &mut Columns<'_>) -> Result<Run, StoreError> {
    Ok(Run {
        id: row.id()?,
        organization: row.id()?,
        agent: row.id()?,
        conversation: row.id()?,
        status: row.word(RunStatus::parse)?,
        stop_reason: row.optional_word(StopReason::parse)?,
        error: row.get()?,
        background: row.get()?,
        usage: row.usage()?,
        step_count: row.whole32()?,
        created_at: row.time()?,
        completed_at: row.optional_time()?,
    })
}

fn read_step(row: &mut Columns<'_>) -> Result<Step, StoreError> {
    Ok(Step {
        id: row.id()?,
        organization: row.id()?,
        agent: row.id()?,
        run: row.id()?,
        model: row.text()?,
        context_window: row.whole32()?,
        usage: row.usage()?,
        stop_reason: row.optional_word(StopReason::parse)?,
        status: row.word(StepStatus::parse)?,
        created_at: row.time()?,
    })
}

pub(crate) fn insert(scope: &Scope<'_>, run: &Run) -> Result<(), StoreError> {
    const SQL: &str = "insert into run (id, organization_id, agent_id, conversation_id, status, stop_reason, error, \
                       background, prompt_tokens, completion_tokens, total_tokens, cached_input_tokens, \
                       cache_write_tokens, reasoning_tokens, step_count, created_at, completed_at) \
                       select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17 \
                       where exists (select 1 from conversation c where c.id = $4 and c.agent_id = $3 \
                       and c.organization_id = $2)";
    scope.check_owner("run", run.organization)?;
    texts::check_optional("a run's error", run.error.as_deref())?;
    let inserted = scope.db.execute(
        SQL,
        params![
            run.id.as_bytes(),
            run.organization.as_bytes(),
            run.agent.as_bytes(),
            run.conversation.as_bytes(),
            run.status.as_str(),
            run.stop_reason.map(StopReason::as_str),
            run.error,
            run.background,
            whole(run.usage.prompt_tokens),
            whole(run.usage.completion_tokens),
            whole(run.usage.total_tokens),
            whole(run.usage.cached_input_tokens),
            whole(run.usage.cache_write_tokens),
            whole(run.usage.reasoning_tokens),
            run.step_count,
            micros(run.created_at),
            run.completed_at.map(micros),
        ],
    );
    match Scope::named(inserted, "run", run.id)? {
        0 => Err(StoreError::not_found("conversation", run.conversation)),
        _ => Ok(()),
    }
}

pub(crate) fn update(scope: &Scope<'_>, update: &RunUpdate) -> Result<(), StoreError> {
    const SQL: &str = "update run set status = $1, stop_reason = $2, error = $3, prompt_tokens = $4, \
                       completion_tokens = $5, total_tokens = $6, cached_input_tokens = $7, \
                       cache_write_tokens = $8, reasoning_tokens = $9, step_count = $10, completed_at = $11 \
                       where id = $12 and agent_id = $13 and organization_id = $14 \
                       and status in ('created', 'running')";
    const SOME: &str = "select 1 from run where id = $1 and agent_id = $2 and organization_id = $3";
    texts::check_optional("a run's error", update.error.as_deref())?;
    let changed = scope.db.execute(
        SQL,
        params![
            update.status.as_str(),
            update.stop_reason.map(StopReason::as_str),
            update.error,
            whole(update.usage.prompt_tokens),
            whole(update.usage.completion_tokens),
            whole(update.usage.total_tokens),
            whole(update.usage.cached_input_tokens),
            whole(update.usage.cache_write_tokens),
            whole(update.usage.reasoning_tokens),
            update.step_count,
            update.completed_at.map(micros),
            update.run.as_bytes(),
            update.agent.as_bytes(),
            scope.owner_bytes(),
        ],
    )?;
    if changed > 0 {
        return Ok(());
    }
    let ids = params![update.run.as_bytes(), update.agent.as_bytes(), scope.owner_bytes()];
    if scope.db.exists(SOME, ids)? {
        return Err(StoreError::conflict("run", update.run, "is over already"));
    }
    Err(StoreError::not_found("run", update.run))
}

pub(crate) fn insert_step(scope: &Scope<'_>, step: &Step) -> Result<(), StoreError> {
    // Placeholders must first appear in the order of their numbers, because one engine counts them by appearance.
    const SQL: &str = "with r as (select ordinal from run where id = $1 and organization_id = $2 and agent_id = $3) \
                       insert into step (run_ordinal, organization_id, agent_id, id, model, context_window, \
                       prompt_tokens, completion_tokens, total_tokens, cached_input_tokens, cache_write_tokens, \
                       reasoning_tokens, stop_reason, status, created_at) \
                       select r.ordinal, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15 from r";
    scope.check_owner("step", step.organization)?;
    texts::check("a step's model", &step.model)?;
    let inserted = scope.db.execute(
        SQL,
        params![
            step.run.as_bytes(),
            step.organization.as_bytes(),
            step.agent.as_bytes(),
            step.id.as_bytes(),
            step.model,
            step.context_window,
            whole(step.usage.prompt_tokens),
            whole(step.usage.completion_tokens),
            whole(step.usage.total_tokens),
            whole(step.usage.cached_input_tokens),
            whole(step.usage.cache_write_tokens),
            whole(step.usage.reasoning_tokens),
            step.stop_reason.map(StopReason::as_str),
            step.status.as_str(),
            micros(step.created_at),
        ],
    );
    match Scope::named(inserted, "step", step.id)? {
        0 => Err(StoreError::not_found("run", step.run)),
        _ => Ok(()),
    }
}

/// Closes every run that was left open, whoever owns it, and says how many there were.
pub(crate) fn close_open(db: &Db, at: Timestamp, error: &str) -> Result<u64, StoreError> {
    const SQL: &str = "update run set status = 'failed', stop_reason = 'error', error = $1, completed_at = $2 \
                       where status in ('created', 'running')";
    texts::check("a run's error", error)?;
    Ok(db.execute(SQL, params![error, micros(at)])? as u64)
}
