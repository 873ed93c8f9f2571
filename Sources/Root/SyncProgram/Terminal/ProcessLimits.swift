import Foundation
import Glibc

/// The limits that the system sets to this process.
public enum ProcessLimits {
    /// The descriptors that a server needs besides its connections: for the database and its readers, tokens, logs, and
    /// the listener.
    package static let reservedFiles = 64
    /// The minimum for any program: for the database and its WAL, sockets, and the runtime.
    private static let leastFiles = 64
    /// Those of them that are not for standard input, output, and errors, or open already.
    private static let leastFreeFiles = 48

    /// The least address space: that of the program and its libraries, and for each processor that of the threads of
    /// the runtime with their stacks and heaps. Most of it is reserved only.
    private static var leastAddressSpace: Int {
        256 * 1_024 * 1_024 + ProcessInfo.processInfo.activeProcessorCount * 160 * 1_024 * 1_024
    }

    /// Raises the limit on open files, and throws if a limit is still too low for a program, or if the program cannot
    /// read its arguments.
    public static func raiseAndRequireEnough() throws(LimitTooLow) {
        raiseFiles()
        // The Swift runtime reads them from /proc. Without them, any command would look like that of a bare program.
        guard !CommandLine.arguments.isEmpty else {
            throw LimitTooLow("not read its own arguments", advice: "mount /proc: mount -t proc proc /proc")
        }
        try requireEnough()
        try requireFreeFiles()
    }

    /// Throws if a limit is too low for a client or a server.
    ///
    /// With too few descriptors, a library may crash the program when it opens its first socket. With too little
    /// address space, the runtime waits forever for a thread.
    package static func requireEnough() throws(LimitTooLow) {
        let files = current(RLIMIT_NOFILE).map { Int(clamping: $0.rlim_cur) } ?? leastFiles
        guard files >= leastFiles else {
            throw LimitTooLow("open \(files) files, and needs \(leastFiles)", raisedBy: "ulimit -n 1024")
        }
        let space = current(RLIMIT_AS).map { Int(clamping: $0.rlim_cur) } ?? .max
        guard space >= leastAddressSpace else {
            let mebibytes = [space, leastAddressSpace].map { $0 / (1_024 * 1_024) }
            throw LimitTooLow(
                "use \(mebibytes[0]) MiB of address space, and needs \(mebibytes[1])", raisedBy: "ulimit -v unlimited")
        }
    }

    /// Throws if too many files are open already. A program inherits open files from the one that starts it.
    private static func requireFreeFiles() throws(LimitTooLow) {
        guard let limit = current(RLIMIT_NOFILE).map({ Int(clamping: $0.rlim_cur) }),
            let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count,
            limit - open < leastFreeFiles
        else { return }
        throw LimitTooLow(
            "open \(limit) files, of which \(open) are open already, and needs \(leastFreeFiles) more",
            raisedBy: "ulimit -n \(((open + leastFreeFiles) / 1_024 + 1) * 1_024)")
    }

    /// Raises the limit on open files and connections as far as the system allows. Debian gives a process 1,024 unless
    /// it asks for more.
    ///
    /// - Returns: the new limit.
    @discardableResult
    package static func raiseFiles() -> Int {
        guard var limit = current(RLIMIT_NOFILE) else { return 1_024 }
        let before = limit.rlim_cur
        limit.rlim_cur = limit.rlim_max
        if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) != 0 { limit.rlim_cur = before }
        return Int(clamping: limit.rlim_cur)
    }

    private static func current(_ resource: __rlimit_resource) -> rlimit? {
        var limit = rlimit()
        return getrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0 ? limit : nil
    }
}

/// The error for a limit of this process that is too low.
public struct LimitTooLow: Error, CustomStringConvertible {
    public let description: String
    /// The command that raises the limit.
    public let advice: String

    init(_ words: String, raisedBy command: String) {
        self.init(words, advice: "raise the limit, as with: \(command)")
    }

    init(_ words: String, advice: String) {
        description = "this process may \(words)"
        self.advice = advice
    }
}
