import Foundation
import Glibc
import RecordImport

/// The bytes of an input, and its name in messages.
struct ImportInput {
    let bytes: [UInt8]
    let name: String

    /// Reads a file, or standard input for `-`.
    init(file: String) throws {
        let handle: FileHandle
        if file == "-" {
            handle = .standardInput
            name = "standard input"
        } else {
            name = file
            // A URL would resolve `..` by the text of the path, and find another file behind a symbolic link.
            let descriptor = open(file, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else {
                throw CommandError(.noInput, "\(file) " + (errno == ENOENT ? "does not exist" : "cannot be read"))
            }
            handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        }
        bytes = try Self.read(handle, name)
    }

    private init(bytes: [UInt8], name: String) {
        self.bytes = bytes
        self.name = name
    }

    private static func read(_ handle: FileHandle, _ name: String) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var lines = 0
        do {
            var status = stat()
            // A program may have read a part of the standard input.
            if handle !== FileHandle.standardInput, fstat(handle.fileDescriptor, &status) == 0,
                status.st_mode & S_IFMT == S_IFREG
            {
                try checkSize(Int(status.st_size), name)
                bytes.reserveCapacity(Int(status.st_size))
            }
            while let part = try handle.read(upToCount: 1_048_576), !part.isEmpty {
                bytes.append(contentsOf: part)
                try checkSize(bytes.count, name)
                lines += part.count { $0 == UInt8(ascii: "\n") }
                guard lines <= ImportLimits.inputLines else {
                    throw CommandError(
                        .noInput, "\(name) has more than \(ImportLimits.inputLines) lines",
                        advice: "split it into several files")
                }
            }
        } catch let failure as CommandError {
            throw failure
        } catch {
            throw CommandError(.noInput, "\(name) cannot be read")
        }
        return bytes
    }

    private static func checkSize(_ bytes: Int, _ name: String) throws(CommandError) {
        guard bytes > ImportLimits.inputBytes else { return }
        throw CommandError(
            .noInput, "\(name) is larger than \(ImportLimits.inputBytes) bytes", advice: "split it into several files")
    }

    /// Reads the accounts of this machine from all its sources: files, LDAP, systemd.
    static func accounts() throws -> ImportInput {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/getent")
        process.arguments = ["passwd"]
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardInput = FileHandle.nullDevice
        do {
            try process.run()
        } catch {
            throw CommandError(
                .noInput, "/usr/bin/getent cannot be run", advice: "give a file in the format of passwd(5)")
        }
        let bytes = try read(pipe.fileHandleForReading, "getent passwd")
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw CommandError(.noInput, "getent passwd failed with status \(process.terminationStatus)")
        }
        return ImportInput(bytes: bytes, name: "getent passwd")
    }

    /// Returns an id of this machine, because accounts with the same name on another machine are other people.
    static func machine() -> String {
        if let text = try? String(contentsOfFile: "/etc/machine-id", encoding: .utf8) {
            let id = text.trimmingCharacters(in: .whitespacesAndNewlines)
            if !id.isEmpty { return id }
        }
        return ProcessInfo.processInfo.hostName
    }

    /// Returns whether the path leads to a regular file that this user can read and that is not empty. It may be a
    /// symbolic link.
    static let isPicture: @Sendable (String) -> Bool = { path in
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_size > 0
            && access(path, R_OK) == 0
    }
}
