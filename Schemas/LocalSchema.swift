/// The SQL of a client's local store, from `local/`.
public enum LocalSchema {
    /// One migration of the fixed tables. A released migration never changes: each change of the schema is a new one.
    public struct Migration: Sendable {
        public let name: String
        public let sql: String
    }

    /// The migrations in the order of their application. Their count is the version of the schema.
    public static let migrations: [Migration] = [
        Migration(
            name: "m0001_local_cache", sql: String(decoding: PackageResources.m0001_local_cache_sql, as: UTF8.self))
    ]
}
