/// The SQL of an authority's database, from `authority/`.
public enum AuthoritySchema {
    /// One migration. A released migration never changes: each change of the schema is a new one.
    public struct Migration: Sendable {
        public let name: String
        public let sql: String
    }

    /// The migrations in the order of their application. Their count is the version of the schema.
    public static let migrations: [Migration] = [
        Migration(
            name: "m0001_authority", sql: String(decoding: PackageResources.m0001_authority_sql, as: UTF8.self))
    ]
}

/// The SQL of an authority's tables in PostgreSQL, from `authority-postgres/`.
public enum AuthorityPostgresSchema {
    /// The migrations in the order of their application. Their count is the version of the schema.
    public static let migrations: [AuthoritySchema.Migration] = [
        AuthoritySchema.Migration(
            name: "p0001_authority", sql: String(decoding: PackageResources.p0001_authority_sql, as: UTF8.self))
    ]
}
