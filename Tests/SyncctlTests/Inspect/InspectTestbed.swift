import ArgumentParser
import Foundation
import LoopbackPage
import PageChecks
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
    func call(_ call: InspectCall, _ json: String = "{}") async throws -> JSONValue {
        try JSONValue(try await inspector.answer(call, PageArguments(Array(json.utf8))).bytes)
    }

    /// Returns the reason why a call is refused.
    func refusal(_ call: InspectCall, _ json: String) async -> PageError? {
        do throws(PageError) {
            _ = try await inspector.answer(call, PageArguments(Array(json.utf8)))
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
