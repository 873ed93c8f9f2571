import Glibc

/// The metrics of this process, under the names that Prometheus recommends for every program.
///
/// Source: https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics
package enum ProcessMetrics {
    /// Adds the metrics to a registry.
    package static func add(to registry: PrometheusRegistry) {
        registry.read("process_resident_memory_bytes", .gauge, "Resident memory in bytes.") {
            pages(field: 1).map { $0 * Double(sysconf(Int32(_SC_PAGESIZE))) }
        }
        registry.read("process_virtual_memory_bytes", .gauge, "Virtual memory in bytes.") {
            pages(field: 0).map { $0 * Double(sysconf(Int32(_SC_PAGESIZE))) }
        }
        registry.read("process_cpu_seconds_total", .counter, "User and system processor time in seconds.") {
            var usage = rusage()
            guard getrusage(RUSAGE_SELF.rawValue, &usage) == 0 else { return nil }
            return usage.ru_utime.seconds + usage.ru_stime.seconds
        }
        registry.read("process_open_fds", .gauge, "Open file descriptors.") { openFiles() }
        registry.read("process_max_fds", .gauge, "Maximum number of open file descriptors.") {
            var limit = rlimit()
            guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
            return Double(limit.rlim_cur)
        }
    }

    /// Returns a field of `/proc/self/statm`, which counts pages.
    private static func pages(field: Int) -> Double? {
        guard let text = firstLine(of: "/proc/self/statm") else { return nil }
        let fields = text.split(separator: " ")
        return fields.indices.contains(field) ? Double(fields[field]) : nil
    }

    private static func firstLine(of path: String) -> String? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 256)
        guard fgets(&buffer, Int32(buffer.count), file) != nil else { return nil }
        return String(decoding: buffer.prefix { $0 != 0 && $0 != 10 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private static func openFiles() -> Double? {
        guard let folder = opendir("/proc/self/fd") else { return nil }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        // Without `.`, `..`, and the descriptor of the folder itself.
        return Double(count - 3)
    }
}

extension timeval {
    fileprivate var seconds: Double { Double(tv_sec) + Double(tv_usec) / 1e6 }
}
