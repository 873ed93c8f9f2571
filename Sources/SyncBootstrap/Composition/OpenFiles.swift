import Glibc

/// How many files and connections this process may hold open.
enum OpenFiles {
    /// What a server needs beside its connections: the database with its readers, tokens, logs, the listener.
    static let reserve = 64

    /// Raises the limit as far as the system lets it go; Debian gives a process 1,024 unless it asks for more.
    ///
    /// - Returns: the limit from now on.
    static func raiseLimit() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1_024 }
        let before = limit.rlim_cur
        limit.rlim_cur = limit.rlim_max
        if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) != 0 { limit.rlim_cur = before }
        return Int(clamping: limit.rlim_cur)
    }
}
