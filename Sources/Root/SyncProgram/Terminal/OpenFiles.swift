import Glibc

/// How many files and connections this process may hold open.
public enum OpenFiles {
    /// A server needs so many beside its connections: the database with its readers, tokens, logs, the listener.
    package static let reserve = 64
    /// Any of the programs needs so many: for the database with its log, sockets, and the runtime.
    private static let least = 64

    /// Raises the limit, and checks that it is enough. Without it a library may end the program where it opens its first socket.
    public static func demandEnough() throws(TooFewFiles) {
        let limit = raiseLimit()
        guard limit >= least else { throw TooFewFiles(limit: limit, least: least) }
    }

    /// Raises the limit as far as the system lets it go; Debian gives a process 1,024 unless it asks for more.
    ///
    /// - Returns: the limit from now on.
    package static func raiseLimit() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1_024 }
        let before = limit.rlim_cur
        limit.rlim_cur = limit.rlim_max
        if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) != 0 { limit.rlim_cur = before }
        return Int(clamping: limit.rlim_cur)
    }
}

/// The system lets this process open too few files.
public struct TooFewFiles: Error, CustomStringConvertible {
    let limit: Int
    let least: Int

    public var description: String { "this process may open \(limit) files, and needs \(least)" }
    public var advice: String { "raise the limit, as with: ulimit -n 1024" }
}
