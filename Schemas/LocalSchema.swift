/// The SQL of a client's local cache, from `local/`.
public enum LocalSchema {
    /// One migration of the fixed tables. A released migration never changes: each change of the schema is a new one.
    public struct Migration: Sendable {
        public let name: String
        public let sql: String
    }

    /// The migrations in the order of their application. Their count is the version of the schema.
    public static let migrations: [Migration] = [
        Migration(name: "m0001_local_cache", sql: text(PackageResources.m0001_local_cache_sql)),
        Migration(name: "m0002_recording", sql: text(PackageResources.m0002_recording_sql)),
        Migration(name: "m0003_account", sql: text(PackageResources.m0003_account_sql)),
        Migration(name: "m0004_forgotten", sql: text(PackageResources.m0004_forgotten_sql)),
        Migration(name: "m0005_base_space", sql: text(PackageResources.m0005_base_space_sql)),
        Migration(name: "m0006_access", sql: text(PackageResources.m0006_access_sql)),
        Migration(name: "m0007_journal_bounds", sql: text(PackageResources.m0007_journal_bounds_sql)),
        Migration(name: "m0008_held_back", sql: text(PackageResources.m0008_held_back_sql)),
        Migration(name: "m0009_restorable", sql: text(PackageResources.m0009_restorable_sql)),
        Migration(name: "m0010_confirmed", sql: text(PackageResources.m0010_confirmed_sql)),
        Migration(name: "m0011_catalog", sql: text(PackageResources.m0011_catalog_sql)),
        Migration(name: "m0012_deleted", sql: text(PackageResources.m0012_deleted_sql)),
        Migration(name: "m0013_paused_by", sql: text(PackageResources.m0013_paused_by_sql)),
        Migration(name: "m0014_rejected_fields", sql: text(PackageResources.m0014_rejected_fields_sql)),
        Migration(name: "m0015_paused_for", sql: text(PackageResources.m0015_paused_for_sql)),
    ]

    private static func text(_ bytes: [UInt8]) -> String {
        String(decoding: bytes, as: UTF8.self)
    }
}
