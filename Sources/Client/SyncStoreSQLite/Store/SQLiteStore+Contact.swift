import SQLiteDatabase
public import SyncCore
public import SyncModel

extension SQLiteStore {
    public func contact() throws(StoreError) -> ServerContact {
        try read { connection in try ServerContact.load(connection) }
    }

    public func note(_ news: ContactChange, now: WallTime) throws(StoreError) {
        try write { transaction in
            var contact = try ServerContact.load(transaction.connection)
            if contact.note(news, now: now) {
                try contact.save(transaction.connection)
            } else {
                transaction.rollsBack = true
            }
        }
    }
}

extension ServerContact {
    static func load(_ connection: Connection) throws -> ServerContact {
        let statement = try connection.statement(
            """
            SELECT last_sync, failure_code, failure_message, failure_at, paused_until, paused_by, paused_for
            FROM sync_contact
            """)
        defer { statement.reset() }
        guard try statement.step() else { return ServerContact() }
        let failure = statement.optionalText(1).map {
            Failure(
                code: $0, message: statement.optionalText(2) ?? "",
                at: WallTime(milliseconds: statement.optionalInteger(3) ?? 0))
        }
        let pause = statement.optionalInteger(4).map { end in
            Pause(
                until: WallTime(milliseconds: end), of: .milliseconds(statement.integer(6)),
                by: statement.optionalText(5))
        }
        return ServerContact(
            lastSync: statement.optionalInteger(0).map(WallTime.init(milliseconds:)), lastFailure: failure,
            pause: pause)
    }

    fileprivate func save(_ connection: Connection) throws {
        let statement = try connection.statement(
            """
            INSERT OR REPLACE INTO sync_contact
                (one, last_sync, failure_code, failure_message, failure_at, paused_until, paused_by, paused_for)
            VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7)
            """)
        statement.bind(1, lastSync?.milliseconds)
        statement.bind(2, lastFailure?.code)
        statement.bind(3, lastFailure?.message)
        statement.bind(4, lastFailure?.at.milliseconds)
        statement.bind(5, pause?.end.milliseconds)
        statement.bind(6, pause?.server)
        statement.bind(7, pause?.length.wholeMilliseconds)
        try statement.run()
    }
}
