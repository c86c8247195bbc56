//! The memory that this process may still allocate, as far as the system reports it.

use std::fs;

/// The bytes that can still be allocated within the limits of the machine, the container and the
/// shell; `None` if the system does not report them.
pub(crate) fn available() -> Option<usize> {
    let read = |path: &str| fs::read_to_string(path).ok();
    let meminfo = read("/proc/meminfo");
    let machine = meminfo.and_then(|text| kilobytes(&text, "MemAvailable:"));
    let limits = read("/proc/self/limits");
    let address_space = limits.and_then(|text| soft_limit(&text)).and_then(|limit| {
        let taken = kilobytes(&read("/proc/self/status")?, "VmSize:")?;
        Some(limit.saturating_sub(taken))
    });
    let number = |path: &str| read(path)?.trim().parse::<usize>().ok();
    let container = number("/sys/fs/cgroup/memory.max").map(|limit| {
        limit.saturating_sub(number("/sys/fs/cgroup/memory.current").unwrap_or_default())
    });
    [machine, address_space, container].into_iter().flatten().min()
}

/// The value of a line such as `MemAvailable:   24 kB`, in bytes.
fn kilobytes(text: &str, name: &str) -> Option<usize> {
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number: usize = value.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    number.checked_mul(1024)
}

/// The soft limit of the address space in the text of `/proc/self/limits`; `None` if unlimited.
fn soft_limit(text: &str) -> Option<usize> {
    let line = text.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed_from_system_files() {
        let text = "MemTotal:       24591052 kB\nMemAvailable:   22023920 kB\n";
        assert_eq!(kilobytes(text, "MemAvailable:"), Some(22_023_920 * 1024));
        assert_eq!(kilobytes(text, "SwapFree:"), None);
        let limits = |soft: &str| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units\n\
                 Max address space         {soft:20} unlimited            bytes\n"
            )
        };
        assert_eq!(soft_limit(&limits("716800000")), Some(716_800_000));
        assert_eq!(soft_limit(&limits("unlimited")), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_machine_has_memory() {
        assert!(available().is_some_and(|bytes| bytes > 1 << 20));
    }
}
