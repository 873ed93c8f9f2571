import RecordImport
import SyncCore
import SyncModel
import SyncProgram

/// The text and the JSON of a journal entry.
enum JournalShape {
    static func what(_ entry: JournalEntry) -> String {
        switch entry.event {
        case .rejected(let transaction, _): "rejected: " + TransactionText.summary(transaction)
        case .merged(let conflicts): "merged: " + fields(of: conflicts)
        case .overwritten(let conflicts, _): "overwritten: " + fields(of: conflicts)
        case .noticesRemoved(let space): "overwritten: values in the space \(space) that this device does not know"
        case .cancelled(let transaction): "cancelled: " + TransactionText.summary(transaction)
        case .lost(let transaction): "lost: " + TransactionText.summary(transaction)
        }
    }

    private static func fields(of conflicts: [FieldConflict]) -> String {
        conflicts.prefix(3).map { "\($0.collection.rawValue).\($0.field)" }.joined(separator: ", ")
            + (conflicts.count > 3 ? ", and \(conflicts.count - 3) more" : "")
    }

    static func why(_ entry: JournalEntry) -> String {
        switch entry.event {
        case .rejected(_, let rejection): "\(rejection.code): \(rejection.message)"
        case .merged: "others have changed the same fields"
        case .overwritten(let conflicts, _)
        where conflicts.allSatisfy { $0.winner.stamp.client == $0.loser.stamp.client }:
            conflicts.contains { $0.rule == .deleteWins }
                ? "the record was deleted on this device by someone who had not seen these values"
                : "the same fields were changed on this device by someone who had not seen these values"
        case .overwritten(let conflicts, _):
            conflicts.contains { $0.rule == .deleteWins }
                ? "another device deleted the record before it received these values"
                : "another device changed the same fields before it received these values"
        case .noticesRemoved:
            "the server keeps a limited number of notices about values that gave way to others, and has removed some that this device may not have fetched"
        case .cancelled: "cancelled on this device"
        case .lost:
            "the server's history lacks it, because the server was restored or repaired; or an earlier restore brought back only a part"
        }
    }

    /// Returns the records that a rejected transaction changes, as the server has them now.
    static func serverRows(
        of entry: JournalEntry, in store: any LocalStore
    ) throws(StoreError) -> [RecordAddress: Record] {
        guard case .rejected(let transaction, _) = entry.event else { return [:] }
        var rows: [RecordAddress: Record] = [:]
        for mutation in transaction.mutations where store.catalog[mutation.collection] != nil {
            rows[mutation.address] = try store.shownRecord(mutation.collection, mutation.record)
        }
        return rows
    }

    /// Returns the text of an entry for people.
    ///
    /// - Parameters:
    ///   - rows: the server's rows, which are shown beside the rejected values.
    ///   - catalog: the schemas of the rows.
    ///   - clients: the client ids of this device, whose values are marked.
    static func lines(
        _ entry: JournalEntry, rows: [RecordAddress: Record] = [:], catalog: SchemaCatalog, clients: [ClientID]
    ) -> [String] {
        var lines = [
            "entry    \(entry.number) (\(entry.state.rawValue))", "when     \(TimeText.text(entry.at))",
            "what     \(what(entry))", "why      \(why(entry))",
        ]
        switch entry.event {
        case .rejected(let transaction, _), .cancelled(let transaction), .lost(let transaction):
            lines += self.lines(of: transaction, in: entry, rows, catalog)
        case .merged(let conflicts): lines += self.lines(of: conflicts, clients, catalog)
        case .overwritten(let conflicts, let deleted):
            lines += self.lines(of: conflicts, clients, catalog)
            if let deleted { lines += self.lines(of: deleted, in: entry, [:], catalog) }
        case .noticesRemoved: break
        }
        return lines
    }

    private static func lines(
        of transaction: Transaction, in entry: JournalEntry, _ rows: [RecordAddress: Record], _ catalog: SchemaCatalog
    ) -> [String] {
        var lines: [String] = []
        for mutation in transaction.mutations {
            lines.append("")
            let verb =
                switch mutation.intent {
                case .create: "create"
                case .update: "change"
                case .delete: "delete"
                }
            lines.append("\(verb) \(mutation.collection.rawValue) \(mutation.record)")
            let row = rows[mutation.address]
            let replaced = values(replacedBy: mutation, of: entry)
            let schema = catalog[mutation.collection]
            for (name, value) in mutation.patch {
                let slot = schema?.position(of: name)
                let field = schema?.field(named: name)
                let server =
                    if let row, let slot {
                        "; the server has \(row.values[slot].displayText(of: field))"
                    } else if let old = replaced[name] {
                        "; the server had \(old.displayText(of: field)) instead"
                    } else {
                        ""
                    }
                lines.append("  \(name): \(value.displayText(of: field))\(server)")
            }
        }
        return lines
    }

    private static func lines(
        of conflicts: [FieldConflict], _ clients: [ClientID], _ catalog: SchemaCatalog
    ) -> [String] {
        conflicts.flatMap { conflict in
            let field = catalog[conflict.collection]?.field(named: conflict.field)
            return [
                "",
                "\(conflict.collection.rawValue) \(conflict.record), field \(conflict.field), by the rule \(conflict.rule.rawValue)",
                "  kept: \(side(conflict.winner, of: field, isDelete: conflict.rule == .deleteWins, clients))",
                "  lost: \(side(conflict.loser, of: field, isDelete: false, clients))",
            ]
        }
    }

    /// Returns the values that a restored server had in the fields of a lost update, as far as the update names them:
    /// for a field that was written after the backup, it has its own value instead.
    private static func values(replacedBy mutation: Mutation, of entry: JournalEntry) -> Patch {
        var values = Patch()
        guard case .lost = entry.event, case .update(let edits) = mutation.intent else { return values }
        for edit in edits where edit.before != edit.value { values.set(edit.field, to: edit.before) }
        return values
    }

    private static func side(
        _ side: Contender, of field: FieldSchema?, isDelete: Bool, _ clients: [ClientID]
    ) -> String {
        let client = side.stamp.client
        let device = clients.contains(client) ? "this device (\(client))" : "device \(client)"
        let author = side.account.map { "\($0.rawValue), \(device)" } ?? device
        return (isDelete ? "nothing: the record was deleted" : side.value.displayText(of: field)) + ", by " + author
    }

    /// Returns an entry as JSON for scripts.
    ///
    /// - Parameters:
    ///   - rows: the server's rows, whose values of the rejected fields are shown.
    ///   - catalog: the schemas of the rows.
    ///   - clients: the client ids of this device, whose values are marked.
    static func line(
        _ entry: JournalEntry, rows: [RecordAddress: Record] = [:], catalog: SchemaCatalog, clients: [ClientID]
    ) -> JSONLine {
        var line = JSONLine()
        line.set("entry", entry.number)
        line.set("at", TimeText.text(entry.at))
        if let sequence = entry.sequence { line.set("outbox", sequence.rawValue) }
        line.set("state", entry.state.rawValue)
        switch entry.event {
        case .rejected(let transaction, let rejection):
            line.set("event", "rejected")
            line.set("code", rejection.code.rawValue)
            line.set("message", rejection.message)
            if !rejection.fields.isEmpty { line.set("fields", rejection.fields.map(\.rawValue)) }
            line.set("changes", transaction.mutations.map(TransactionText.line))
            let server = serverLines(of: transaction, rows, catalog)
            if !server.isEmpty { line.set("server", server) }
        case .cancelled(let transaction):
            line.set("event", "cancelled")
            line.set("changes", transaction.mutations.map(TransactionText.line))
        case .lost(let transaction):
            line.set("event", "lost")
            line.set("changes", transaction.mutations.map(TransactionText.line))
            let server = transaction.mutations.compactMap { serverLine(of: $0, values(replacedBy: $0, of: entry)) }
            if !server.isEmpty { line.set("server", server) }
        case .merged(let conflicts):
            line.set("event", "merged")
            line.set("conflicts", conflicts.map { conflictLine($0, clients) })
        case .overwritten(let conflicts, let deleted):
            line.set("event", "overwritten")
            line.set("conflicts", conflicts.map { conflictLine($0, clients) })
            if let deleted { line.set("changes", deleted.mutations.map(TransactionText.line)) }
        case .noticesRemoved(let space):
            line.set("event", "noticesRemoved")
            line.set("space", space.rawValue)
        }
        return line
    }

    private static func serverLines(
        of transaction: Transaction, _ rows: [RecordAddress: Record], _ catalog: SchemaCatalog
    ) -> [JSONLine] {
        transaction.mutations.compactMap { mutation in
            guard let row = rows[mutation.address], let schema = catalog[mutation.collection] else { return nil }
            var values = Patch()
            for (field, _) in mutation.patch {
                if let slot = schema.position(of: field) { values.set(field, to: row.values[slot]) }
            }
            return serverLine(of: mutation, values)
        }
    }

    /// Returns the values that the server has, or had, in the fields of a mutation; nil without any.
    private static func serverLine(of mutation: Mutation, _ values: Patch) -> JSONLine? {
        guard !values.isEmpty else { return nil }
        var line = JSONLine()
        line.set("type", mutation.collection.rawValue)
        line.set("id", mutation.record.description)
        for (field, value) in values { line.set(field.rowKey, value) }
        return line
    }

    private static func conflictLine(_ conflict: FieldConflict, _ clients: [ClientID]) -> JSONLine {
        var line = JSONLine()
        line.set("type", conflict.collection.rawValue)
        line.set("id", conflict.record.description)
        line.set("field", conflict.field.rawValue)
        line.set("rule", conflict.rule.rawValue)
        line.set("kept", conflict.winner.value)
        line.set("lost", conflict.loser.value)
        if let account = conflict.winner.account { line.set("keptBy", account.rawValue) }
        if let account = conflict.loser.account { line.set("lostBy", account.rawValue) }
        line.set("keptHere", clients.contains(conflict.winner.stamp.client))
        line.set("lostHere", clients.contains(conflict.loser.stamp.client))
        return line
    }
}
