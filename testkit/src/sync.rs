//! How tests wait for one another without sleeping: gates that hold something back until the test lets it go.
//!
//! Nothing here looks at a clock.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Semaphore;

/// Holds back whoever waits at it until the test opens it, and tells the test that somebody arrived.
#[derive(Debug, Clone)]
pub struct Gate {
    opening: Arc<Semaphore>,
    arrivals: Arc<Semaphore>,
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self { opening: Arc::new(Semaphore::new(0)), arrivals: Arc::new(Semaphore::new(0)) }
    }

    /// Opens the gate for good.
    pub fn release(&self) {
        // Closing the semaphore wakes all who wait and lets later ones pass at once.
        self.opening.close();
    }

    /// Returns once somebody waits at the gate; each arrival is reported once.
    pub async fn reached(&self) {
        if let Ok(arrival) = self.arrivals.acquire().await {
            arrival.forget();
        }
    }

    /// Waits until the gate is open.
    pub async fn pass(&self) {
        self.arrivals.add_permits(1);
        if let Ok(permit) = self.opening.acquire().await {
            permit.forget();
        }
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

/// Locks `mutex` even if a failed test poisoned it: the failure is reported where it happened, not here.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
