import ArgumentParser
import Foundation
import Glibc
import SyncBootstrap
import SyncCore
import SyncJSON
import SyncModel
import SyncProgram
import Testing

@testable import syncctl

/// An inspector over a new database in a temporary folder.
struct InspectTestbed {
    let inspector: Inspector
    /// The path of the database.
    let file: String
    let secret = InspectSecret(text: "5ec2e7")

    var store: any LocalStore { inspector.store }

    /// Runs `body` with an inspector, and deletes the folder afterwards.
    static func run(space: SpaceID? = nil, _ body: (InspectTestbed) async throws -> Void) async throws {
        let folder = NSTemporaryDirectory() + "tombolo-inspect-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let options = try GlobalOptions.parse(["--store", folder])
        try await options.withClient(creating: true) { client in
            let inspector = Inspector(
                store: try client.store, settings: client.settings, runtime: client.runtime, newRecordSpace: space,
                leasing: client.leasing)
            try await body(InspectTestbed(inspector: inspector, file: client.settings.store.file))
        }
    }

    /// Returns the result of a call.
    func call(_ route: InspectRoute, _ json: String = "{}") async throws -> JSONValue {
        try JSONValue(try await inspector.answer(route, Array(json.utf8)).bytes)
    }

    /// Returns the reason why a call is refused.
    func refusal(_ route: InspectRoute, _ json: String) async -> InspectRefusal? {
        do {
            _ = try await inspector.answer(route, Array(json.utf8))
            return nil
        } catch {
            return error
        }
    }

    /// Creates a user, and returns its id.
    @discardableResult
    func user(_ name: String) async throws -> String {
        try #require(
            try await call(.create, #"{"collection":"user","fields":{"username":"\#(name)"}}"#)["id"]?.string)
    }
}

extension JSONValue {
    var string: String? { if case .string(let text) = self { text } else { nil } }
    var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
    var array: [JSONValue] { if case .array(let values) = self { values } else { [] } }
}

/// Sends bytes to a port of this machine, and returns everything that comes back until the other side closes.
enum RawExchange {
    static func send(_ text: String, to port: Int) async -> String {
        await withCheckedContinuation { continuation in
            // A thread of its own, because the call waits for tasks.
            Thread.detachNewThread { continuation.resume(returning: exchange(Array(text.utf8), port)) }
        }
    }

    /// Opens a connection; nil if that fails.
    static func open(_ port: Int) -> Int32? {
        let connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard connection >= 0 else { return nil }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(connection, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        if isConnected { return connection }
        close(connection)
        return nil
    }

    private static func exchange(_ bytes: [UInt8], _ port: Int) -> String {
        guard let connection = open(port) else { return "" }
        defer { close(connection) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { break }
            rest = rest.dropFirst(count)
        }
        var response: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(connection, &buffer, buffer.count)
            guard count > 0 else { return String(decoding: response, as: UTF8.self) }
            response += buffer[..<count]
        }
    }
}
