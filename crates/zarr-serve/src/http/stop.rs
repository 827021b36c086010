//! Waits for the signal to stop.

/// Returns at Ctrl-C, on Unix also at SIGTERM. Where signals cannot be waited for, never.
pub(crate) async fn signalled() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                interrupted = tokio::signal::ctrl_c() => if interrupted.is_ok() { return },
                _ = terminate.recv() => return,
            }
        }
    }
    #[cfg(not(unix))]
    if tokio::signal::ctrl_c().await.is_ok() {
        return;
    }
    std::future::pending().await
}
