import Foundation

/// The examples below `Schemas`, found relative to this file.
enum GoldenExamples {
    private static let schemas = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Schemas")

    static func recording() throws -> [UInt8] {
        Array(try Data(contentsOf: schemas.appending(path: "recording/example.jsonl")))
    }

    static func catalog() throws -> [UInt8] {
        Array(try Data(contentsOf: schemas.appending(path: "catalog/example.json")))
    }

    /// Returns the messages whose file names start with the prefix.
    static func wire(_ prefix: String) throws -> [[UInt8]] {
        let folder = schemas.appending(path: "wire/examples")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        return try names.filter { $0.hasPrefix(prefix) }.map { name in
            Array(try Data(contentsOf: folder.appending(path: name)))
        }
    }
}
