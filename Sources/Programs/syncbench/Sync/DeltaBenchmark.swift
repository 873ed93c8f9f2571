import BenchmarkUsers
import CRawSQLite
import Foundation
import SyncAuthority
import SyncCore
import SyncModel
import SyncRuntimeLive
import SyncStoreSQLite
import SyncWire

/// A delta, produced by a server and applied by a device in this process, and the bytes of a row on disks and on the
/// wire.
///
/// The C program reads a log of changes and writes JSON objects; its device applies rows that it makes itself, so that
/// its side has no decoding.
struct DeltaBenchmark {
    let settings: BenchmarkSettings
    private let principal = Principal(name: "reader")

    init(_ settings: BenchmarkSettings) {
        self.settings = settings
    }

    func figures() throws -> [Figure] {
        let databases = DeviceDatabases(settings: settings)
        let rows = settings.rows
        let changes = min(settings.changes, rows)
        let server = try settings.subfolder("server-delta").appending(path: "server.db").path
        let authority = try SimulatedWriter.authority(at: server, durability: .normal)
        let writer = SimulatedWriter(authority: authority)
        try writer.create(rows)
        // The C program reads on another connection than it writes, as the server does, and has a device of its own.
        let raw = try databases.raw("raw-delta")
        defer { raw_close(raw) }
        let rawReader = try databases.raw("raw-delta", isEmpty: true)
        defer { raw_close(rawReader) }
        let rawDevice = try databases.raw("raw-delta-device")
        defer { raw_close(rawDevice) }

        let path = try databases.path("delta")
        let device = try databases.open(path, catalog: SimulatedUsers.catalog)
        try device.follow(.default)
        let hello = try authority.hello(for: principal, now: .live())
        _ = try device.adopt(hello.epoch, as: principal.account)
        let snapshot = try produce(from: nil, authority)
        try apply(snapshot.pages, to: device)
        let sizes = sizes(
            snapshot, device: path, server: server, raw: settings.folder.appending(path: "raw-delta.db").path,
            plain: Double(raw_encode_users(raw, 1, rows)))

        var (number, version, logged): (Int64, Int64, Int64) = (SimulatedWriter.commits(creating: rows), 1, 0)
        var delta = Pages()
        var cursor = snapshot.cursor
        func change() throws {
            number += try writer.change(changes, stride: rows / changes, first: number, seen: number)
            version += 1
            logged = raw_last_change(raw)
            try check(raw_change(raw, changes, rows / changes, version))
        }
        var bytes: Double = 0
        var plain: Double = 0
        let changed = "\(Figure.text(Double(changes))) of \(settings.users)"
        let produced = try Comparison(
            row: .delta, name: "produce a delta on the server", size: changed, units: Int(changes), unit: "rows",
            basis: {
                try change()
                return try Cost.of {
                    let length = raw_produce_delta(rawReader, logged)
                    guard length > 0 else { throw BenchmarkError("the raw delta is empty") }
                    plain = Double(length) / Double(changes)
                }
            },
            ours: {
                let cost = try Cost.of { delta = try produce(from: cursor, authority) }
                bytes = Double(delta.bytes) / Double(changes)
                // The device must have these pages before the next ones.
                try apply(delta.pages, to: device)
                cursor = delta.cursor
                return cost
            }
        ).run(rounds: settings.rounds)
        let applied = try Comparison(
            row: .delta, name: "apply a delta on a device", size: changed, units: Int(changes), unit: "rows",
            basis: {
                try change()
                return try Cost.of { try check(raw_apply_delta(rawDevice, changes, rows / changes, version)) }
            },
            ours: {
                delta = try produce(from: cursor, authority)
                cursor = delta.cursor
                return try Cost.of { try apply(delta.pages, to: device) }
            }
        ).run(rounds: settings.rounds)
        device.close()
        return [
            produced, applied,
            Figure(
                row: .delta, name: "bytes on the wire for one changed field, beside the whole row as plain JSON",
                size: changed, unit: "bytes a row", ours: bytes, basis: plain, ratio: plain / bytes),
        ] + sizes
    }

    /// The encoded pages of a pull, with the cursor of each request.
    private struct Pages {
        var pages: [(request: PullRequest, bytes: [UInt8])] = []
        var cursor: Cursor?

        var bytes: Int { pages.reduce(0) { $0 + $1.bytes.count } }
    }

    private func produce(from cursor: Cursor?, _ authority: Authority) throws -> Pages {
        var result = Pages(cursor: cursor)
        var hasMore = true
        while hasMore {
            let request = PullRequest(space: .default, cursor: result.cursor, limit: 1_000)
            let response = try authority.pull(request, by: principal, now: .live())
            guard case .page(let page) = response,
                let bytes = try ServerResponse.pull(response).encode(
                    to: .pull(request), catalog: SimulatedUsers.catalog)
            else { throw BenchmarkError("the server did not return a page: \(response)") }
            result.pages.append((request, bytes))
            result.cursor = page.cursor
            hasMore = page.hasMore
        }
        return result
    }

    private func apply(_ pages: [(request: PullRequest, bytes: [UInt8])], to device: SQLiteStore) throws {
        for (request, bytes) in pages {
            let response = try ServerResponse.decode(bytes, to: .pull(request), catalog: SimulatedUsers.catalog)
            guard case .pull(.page(let page)) = response else { throw BenchmarkError("not a page: \(response)") }
            guard case .applied = try device.apply(page, after: request.cursor, brake: nil, now: .live()) else {
                throw BenchmarkError("the device did not apply a page")
            }
            try device.checkpoint()
        }
    }

    /// Returns the bytes of a row in the databases, beside those of the C program, and on the wire.
    private func sizes(_ snapshot: Pages, device: String, server: String, raw path: String, plain: Double) -> [Figure] {
        let rows = Double(settings.rows)
        let raw = Double(raw_database_bytes(path))
        func figure(_ name: String, _ ours: Double, _ basis: Double) -> Figure {
            Figure(
                row: .size, name: name, size: settings.users, unit: "bytes a row", ours: ours / rows,
                basis: basis / rows, ratio: basis / ours)
        }
        return [
            figure("a row in the device's database, beside the C table", Double(raw_database_bytes(device)), raw),
            figure("a row in the server's database, beside the C table", Double(raw_database_bytes(server)), raw),
            figure(
                "a row of a first sync on the wire, beside plain JSON without ids and versions",
                Double(snapshot.bytes), plain),
        ]
    }
}
