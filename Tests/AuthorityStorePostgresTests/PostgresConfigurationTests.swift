import SyncAuthority
import TestRings
import Testing

@testable import AuthorityStorePostgres

@Suite(.ring(.unit)) struct PostgresConfigurationTests {
    private func options(of connection: String) -> String? {
        let parameters = PostgresConfiguration(connection: connection, schema: "notes").parameters
        return parameters.last { $0.keyword == "options" }?.value
    }

    @Test(arguments: ["host=/run/db options='-c work_mem=8MB'", "postgresql://host/db?options=-c%20work_mem%3D8MB"])
    func `the operator's options stay, before those of the store`(connection: String) {
        #expect(options(of: connection)?.hasPrefix("-c work_mem=8MB -c search_path=notes ") == true)
    }

    @Test(arguments: [
        ("host=db dbname=sync", "host=db dbname=sync"),
        ("postgresql://ned@db/sync?sslmode=require", "postgresql://ned@db/sync?sslmode=require"),
        ("host=db password=canary", "password=******** host=db"),
        (
            #"host=db sslpassword='can\'t ary' application_name='a \'b\\'"#,
            #"host=db application_name='a \'b\\' sslpassword=********"#
        ),
        (
            "postgres://ned:canary@db/sync?sslpassword=canary",
            "user=ned password=******** dbname=sync host=db sslpassword=********"
        ),
        ("host=db password=can ary", "********"),
        // The password has a slash, and libpq takes its end for the name of the database.
        ("postgresql://ned:12/canary@db/sync", "host=ned port=12 password=********"),
        // The host is missing, and libpq takes the password for the port.
        ("postgresql://ned:canary", "host=ned password=********"),
        ("postgresql://db,db2:5432,5433/sync", "postgresql://db,db2:5432,5433/sync"),
    ])
    func `the secrets of a connection string are masked`(connection: String, shown: String) {
        // The order of the keywords is that of libpq.
        let words = { (text: String) in text.split(separator: " ").sorted() }
        #expect(words(PostgresConfiguration.masked(connection)) == words(shown))
    }

    @Test(arguments: [
        (
            "host=db password=canary",
            "contains a password, which others could read; expected it in the file that PGPASS"
        ),
        ("postgres://ned:canary@db/sync", "contains a password, which others could read; expected it in the file that"),
        ("postgres://ned:canary", "contains a password, which others could read; expected it in the file that PGPASS"),
        ("postgres://ned:12/canary@db/sync", "contains a password, which others could read; expected it in the fi"),
        ("host=db sslpassword=canary", "the secret sslpassword, which others could read; expected service=NAME, and "),
        ("postgres://db/sync?sslpassword=canary", "the secret sslpassword, which others could read; expected service="),
    ])
    func `a secret in a connection string is refused with the place for it`(connection: String, words: String) throws {
        let error = try #require(throws: AuthorityStoreError.self) {
            try PostgresConfiguration(connection: connection).validate()
        }
        #expect(error.message.contains(words) && !error.message.contains("canary"), "\(error.message)")
        try PostgresConfiguration(connection: "host=db service=sync").validate()
    }

    @Test(arguments: ["host=/run/db", "host"])
    func `a connection string without options, or one that is invalid, adds none`(connection: String) {
        #expect(options(of: connection)?.hasPrefix("-c search_path=notes ") == true)
    }
}
