//! Tells how much memory the machine has.

/// What is taken where the system does not tell.
const UNKNOWN: u64 = 8 << 30;
/// The least that a copy takes by default.
const MIN_DEFAULT_BYTES: u64 = 256 << 20;

/// The memory of a copy that has no bound of the caller: a quarter of the machine's, or of what the process may have.
pub(crate) fn default_memory() -> u64 {
    (physical().unwrap_or(UNKNOWN) / 4).max(MIN_DEFAULT_BYTES)
}

/// Bytes of memory of the machine, or of the group of processes that this one belongs to, whichever is less.
#[cfg(target_os = "linux")]
fn physical() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let machine = line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? << 10;
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let group = group.and_then(|text| text.trim().parse::<u64>().ok());
    Some(group.map_or(machine, |group| group.min(machine)))
}

#[cfg(not(target_os = "linux"))]
fn physical() -> Option<u64> {
    None
}
