import Glibc

/// The limit on open files and connections of this process.
public enum OpenFiles {
    /// The descriptors that a server needs besides its connections: for the database and its readers, tokens, logs, and
    /// the listener.
    package static let reserve = 64
    /// The minimum for any program: for the database and its WAL, sockets, and the runtime.
    private static let least = 64

    /// Raises the limit, and throws if it is still too low. With too few descriptors, a library may crash the program
    /// when it opens its first socket.
    public static func requireEnough() throws(TooFewFiles) {
        let limit = raiseLimit()
        guard limit >= least else { throw TooFewFiles(limit: limit, least: least) }
    }

    /// Raises the limit as far as the system allows. Debian gives a process 1,024 unless it asks for more.
    ///
    /// - Returns: the new limit.
    package static func raiseLimit() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1_024 }
        let before = limit.rlim_cur
        limit.rlim_cur = limit.rlim_max
        if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) != 0 { limit.rlim_cur = before }
        return Int(clamping: limit.rlim_cur)
    }
}

/// The error for a limit on open files that is too low.
public struct TooFewFiles: Error, CustomStringConvertible {
    let limit: Int
    let least: Int

    public var description: String { "this process may open \(limit) files, and needs \(least)" }
    /// The command that raises the limit.
    public var advice: String { "raise the limit, as with: ulimit -n 1024" }
}
