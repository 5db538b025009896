//! What a model is told about tools that the client runs.

/// The return of a call for which the client brought no result and went on.
pub const ABANDONED: &str = "There is no result: the application went on without running this tool or without telling \
what came of it. Don't rely on it having run; call it again if it is still needed.";
