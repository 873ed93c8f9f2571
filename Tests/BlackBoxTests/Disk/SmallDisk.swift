import Foundation
import Glibc

/// A disk of a few megabytes that a test can fill completely and free again.
///
/// If this process may mount file systems, the disk is a tmpfs, and writes of the programs fail with a real ENOSPC.
/// Otherwise it is a limit on the size of files (RLIMIT_FSIZE with its signal ignored), and writes fail with EFBIG.
final class SmallDisk {
    let folder: String
    let kind: Kind
    private let log: String
    private var filler: String { folder + "/filler" }

    enum Kind: String {
        case tmpfs = "a small tmpfs"
        case fileSizeLimit = "a limit on the size of files (RLIMIT_FSIZE)"
    }

    /// - Parameters:
    ///   - folder: The folder to create for the disk.
    ///   - log: The path for the output of mount and prlimit, without the extension.
    init(at folder: String, mebibytes: Int, log: String) throws {
        self.folder = folder
        self.log = log
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let mayMount = ProcessInfo.processInfo.environment["BLACKBOX_DISK"] != "limit"
        if mayMount,
            try Self.tool(["mount", "-t", "tmpfs", "-o", "size=\(mebibytes)m,mode=0700", "tmpfs", folder], log) == 0
        {
            kind = .tmpfs
        } else {
            kind = .fileSizeLimit
        }
    }

    deinit { end() }

    /// Removes the disk, even if processes still have files open on it.
    func end() {
        guard kind == .tmpfs, !hasEnded else { return }
        hasEnded = true
        _ = try? Self.tool(["umount", "-l", folder], log)
    }

    /// The command-line prefix for every program that uses this disk.
    var launcher: [String] {
        switch kind {
        case .tmpfs: []
        case .fileSizeLimit:
            ["/usr/bin/bash", "-c", "trap '' XFSZ; \(isFull ? "ulimit -S -f 8; " : "")exec \"$@\"", "small-disk"]
        }
    }
    private(set) var isFull = false
    private var hasEnded = false

    /// Fills the disk, including for `process`, which is already running.
    func fill(_ process: pid_t? = nil) throws {
        isFull = true
        switch kind {
        case .fileSizeLimit: try limit(process, to: "8192:")
        case .tmpfs:
            let file = open(filler, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            guard file >= 0 else { throw UnmetConditionError("\(filler) cannot be made: errno \(errno)") }
            defer { close(file) }
            let page = [UInt8](repeating: 0, count: 4_096)
            while write(file, page, page.count) > 0 {}
            guard errno == ENOSPC else { throw UnmetConditionError("the disk did not fill: errno \(errno)") }
        }
    }

    func makeRoom(_ process: pid_t? = nil) throws {
        isFull = false
        switch kind {
        case .fileSizeLimit: try limit(process, to: "unlimited:")
        case .tmpfs: try FileManager.default.removeItem(atPath: filler)
        }
    }

    private func limit(_ process: pid_t?, to soft: String) throws {
        guard let process else { return }
        let status = try Self.tool(["prlimit", "--pid", String(process), "--fsize=\(soft)"], log)
        try require(status == 0, "prlimit ended with \(status)")
    }

    private static func tool(_ words: [String], _ log: String) throws -> Int32 {
        try Child(
            words[0], ["/usr/bin/env"] + words, variables: ["PATH": "/usr/bin:/bin:/usr/sbin:/sbin"],
            log: log + "-" + words[0]
        ).wait(atMost: .processTimeout)
    }
}
