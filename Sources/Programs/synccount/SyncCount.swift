import ArgumentParser
import BenchmarkUsers
import Foundation
import SyncModel

/// Runs one hot path of a device or a server some number of times, and nothing else.
///
/// `tools/bench instructions` counts the instructions of two such runs. The difference of the counts, divided by that
/// of the runs, is the cost of one time without the start of the program. It does not depend on how busy or fast the
/// machine is.
@main struct SyncCount: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "synccount", abstract: "Run a hot path of a device or a server a number of times.")

    enum HotPath: String, ExpressibleByArgument, CaseIterable {
        /// A local write with its outbox entry, in its own transaction.
        case write
        /// A read of one record by its uid.
        case read
        /// The same as a new live object.
        case object
        /// A row of the first snapshot, applied by a device.
        case snapshot
        /// A row of the first snapshot, decoded from its bytes by a device.
        case decode
        /// A change of one field, applied by a device with a page of 1,000.
        case change
        /// A push of one edit, from its bytes to those of the response.
        case push
        /// An edit that meets those of other devices, merged by the server in a push of 100.
        case merge
        /// A record created by the server, with its part of a transaction of 1,000.
        case create
        /// A row of the first snapshot, read and encoded by a server.
        case page
    }

    @Argument(help: "The path: write, read, object, snapshot, decode, change, push, merge, create, or page.")
    var path: HotPath
    @Option(help: "How often it runs, a multiple of 1000.") var times: Int64 = 1_000

    func validate() throws {
        guard times > 0, times % 1_000 == 0,
            [.read, .object, .snapshot, .decode, .merge, .create].contains(path) || times <= Self.users
        else {
            throw ValidationError("--times must be a multiple of 1000, and at most \(Self.users) for this path")
        }
    }

    /// Enough for each write to be the first of its record.
    private static let users: Int64 = 4_000

    func run() throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "synccount-\(ProcessInfo.processInfo.processIdentifier)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        let users = [.snapshot, .create].contains(path) ? times : Self.users
        switch path {
        case .write, .read, .object, .snapshot, .change:
            let device = try CountedDevice(in: folder, users: users)
            defer { device.close() }
            switch path {
            case .write: for index in 0..<times { try device.write(index) }
            case .change: try device.changes(of: times)
            case .read: for index in 0..<times { try device.read(index % users) }
            case .object:
                let objects = try device.objects()
                for index in 0..<times { try device.readObject(index % users, of: objects) }
            default: break
            }
        case .decode: try CountedDevice.decodePages(of: times)
        case .push, .merge, .create, .page:
            let server = try CountedServer(in: folder, users: users)
            switch path {
            case .push: for index in 0..<times { try server.push(index) }
            case .merge: try server.merges(of: times)
            case .page: try server.pages(of: times)
            default: break
            }
        }
    }
}
