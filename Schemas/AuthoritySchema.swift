/// The SQL of an authority's database, from `authority/`.
public enum AuthoritySchema {
    /// One step of the schema's history. A released step never changes; a change is a new step.
    public struct Migration: Sendable {
        public let name: String
        public let sql: String
    }

    /// In the order in which they are applied; their count is the schema's version.
    public static let migrations: [Migration] = [
        Migration(
            name: "m0001_authority", sql: String(decoding: PackageResources.m0001_authority_sql, as: UTF8.self)),
        Migration(name: "m0002_catalog", sql: String(decoding: PackageResources.m0002_catalog_sql, as: UTF8.self)),
    ]
}
