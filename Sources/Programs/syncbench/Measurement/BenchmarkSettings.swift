import Foundation

/// The sizes of a run, which all benchmarks share.
struct BenchmarkSettings: Sendable {
    /// The folder for databases. Each benchmark uses its own names in it.
    var folder: URL
    /// The number of users in the databases.
    var rows: Int64
    /// How often each pair is measured.
    var rounds: Int
    /// The number of users that a delta changes.
    var changes: Int64
    /// How long an idle device and an idle server are watched.
    var idleSeconds: Int

    /// The number of users as text, for the size of a figure.
    var users: String { "\(Figure.text(Double(rows))) users" }

    func subfolder(_ name: String) throws -> URL {
        let url = folder.appending(path: name)
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return url
    }
}
