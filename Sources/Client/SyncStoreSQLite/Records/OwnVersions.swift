import SQLiteDatabase
import SyncModel

/// The versions of this device's own commits in the current history, as far as `sync_confirmed` has them.
struct OwnVersions {
    /// Selects the key of the space and the version of each commit.
    static let select =
        "SELECT key, confirmed.version FROM sync_confirmed AS confirmed JOIN sync_space ON name = confirmed.space"

    private var versions: [Int64: Set<Version>] = [:]

    init(in connection: Connection) throws {
        try connection.statement(composed: Self.select).forEachRow { row in
            versions[row.integer(0), default: []].insert(Version(row.integer(1)))
        }
    }

    var isEmpty: Bool { versions.isEmpty }

    /// The versions in the space with the given key.
    subscript(space: Int64) -> Set<Version>? { versions[space] }

    /// Returns the latest version, at most the given one, of a commit that is not known as this device's own.
    func latestForeign(upTo version: Version, in space: Int64) -> Version {
        guard let own = versions[space] else { return version }
        var latest = version
        while own.contains(latest) { latest = Version(latest.rawValue - 1) }
        return latest
    }
}
