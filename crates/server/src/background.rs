//! Tasks that outlive the function that started them, so that closing the doors can wait for them.
//!
//! Nothing else in this crate may start a task: one that nobody waits for is killed in the middle of its work.

use std::future::Future;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A set of tasks and the word that they should come to an end.
#[derive(Clone, Default)]
pub(crate) struct Background {
    tasks: TaskTracker,
    closing: CancellationToken,
}

impl Background {
    /// Runs `task` until it ends by itself; a task that may take long should listen to [`Self::closing`].
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    /// Runs `task`, and drops it in the middle when the doors close.
    pub(crate) fn spawn_until_closing(&self, task: impl Future<Output = ()> + Send + 'static) {
        let closing = self.closing.clone();
        self.tasks.spawn(async move {
            closing.run_until_cancelled(task).await;
        });
    }

    /// Cancelled when the doors close.
    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// Tells all tasks to end.
    pub(crate) fn close(&self) {
        self.closing.cancel();
        self.tasks.close();
    }

    /// Waits for the tasks after [`Self::close`]; false if some were still running when the time was over.
    pub(crate) async fn wait(&self, at_most: Duration) -> bool {
        tokio::time::timeout(at_most, self.tasks.wait()).await.is_ok()
    }
}
