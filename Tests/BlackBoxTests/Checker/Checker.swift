/// Checks the invariants from outside, with the contents of the databases and the output of commands after all devices
/// have come to rest.
struct Checker {
    private let evidence: Evidence
    private let server: Observation.Server
    private let replicas: [(name: String, replica: Observation.Replica)]
    private var findings: [Violation] = []

    /// Returns all violations, each with the number of its invariant.
    static func findings(in evidence: Evidence) throws -> [Violation] {
        var checker = try Checker(evidence)
        checker.checkRest()
        checker.checkNothingIsLost()
        checker.checkEffects()
        checker.checkConvergence()
        checker.checkTransactions()
        checker.checkDeletions()
        return checker.findings
    }

    private init(_ evidence: Evidence) throws {
        self.evidence = evidence
        server = try Observation.server(evidence.server)
        replicas = try evidence.devices.map { ($0.name, try Observation.replica($0.database)) }
    }

    private mutating func find(_ invariant: String, _ words: String) {
        findings.append(Violation(invariant: invariant, words: words))
    }

    private func replica(_ name: String) -> Observation.Replica {
        replicas.first { $0.name == name }?.replica ?? Observation.Replica()
    }

    // MARK: I1

    private mutating func checkNothingIsLost() {
        for write in evidence.writes where write.fate == .acknowledged {
            let own = replica(write.device)
            for text in write.texts where !isKept(text, own) && !isSuperseded(write, own) {
                find("I1", "\(write.words): '\(text)' is not on the server, not in the outbox and not in the journal")
            }
            guard write.kind == .delete else { continue }
            for id in write.records
            where server.living.contains(id) && own.journalDeletions[id] == nil && !own.requiredDeletions.contains(id) {
                find("I1", "\(write.words): \(id) lives on the server, and nothing says why")
            }
        }
    }

    private func isKept(_ text: String, _ own: Observation.Replica) -> Bool {
        server.effects[text] != nil || own.requiredTexts.contains(text) || own.journalTexts[text] != nil
            || server.losers.contains(text)
    }

    /// Returns whether a later update of the same record has replaced this one. Updates that have not been sent are
    /// coalesced into one with the last value.
    private func isSuperseded(_ write: Write, _ own: Observation.Replica) -> Bool {
        guard let last = write.texts.last else { return false }
        return evidence.writes.contains { later in
            guard later.device == write.device, later.serial > write.serial else { return false }
            switch write.kind {
            case .update:
                return later.kind == .update && later.records == write.records
                    && later.texts.allSatisfy { isKept($0, own) }
            case .group:
                guard let early = GroupText(last), early.revision > 0,
                    let late = later.texts.last.flatMap(GroupText.init)
                else { return false }
                return late.group == early.group && later.texts.allSatisfy { isKept($0, own) }
            case .create, .delete: return false
            }
        }
    }

    // MARK: I2

    private mutating func checkEffects() {
        for transaction in server.repeated { find("I2", "the feed has transaction \(transaction) more than once") }
        for (text, effects) in server.effects.sorted(by: { $0.key < $1.key }) {
            if effects.count > 1 {
                find("I2", "'\(text)' took effect \(effects.count) times, at \(effects.map(\.version))")
            }
            for (name, replica) in replicas {
                if let reason = replica.journalTexts[text], reason.hasPrefix("rejected") {
                    find("I2", "'\(text)' took effect, and \(name)'s journal says: \(reason)")
                }
            }
        }
        for (text, ids) in server.holders.sorted(by: { $0.key < $1.key }) where ids.count > 1 {
            find("I2", "'\(text)' was written once, and \(ids.count) records have it")
        }
        let written = Set(evidence.writes.flatMap(\.texts))
        for text in Set(server.holders.keys).union(server.effects.keys).subtracting(written).sorted() {
            find("I2", "the server has '\(text)', which nobody wrote")
        }
    }

    // MARK: I4

    private mutating func checkConvergence() {
        for (name, replica) in replicas {
            let keys = Set(server.rows.keys).union(replica.rows.keys).sorted()
            for key in keys where server.rows[key] != replica.rows[key] {
                find(
                    "I4",
                    "\(key): the server has \(server.rows[key] ?? "nothing"), \(name) has \(replica.rows[key] ?? "nothing")"
                )
            }
            for problem in replica.problems { find("I4", "\(name)'s database: \(problem)") }
        }
        if Set(evidence.digests.values).count > 1 {
            let words = evidence.digests.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            find("I4", "the digests differ: \(words.joined(separator: "; "))")
        }
    }

    // MARK: I10

    private mutating func checkTransactions() {
        let last =
            [Sample(name: "the server", version: nil, users: server.users)]
            + replicas.map { Sample(name: $0.name, version: $0.replica.version, users: $0.replica.users) }
        for sample in evidence.samples + last where sample.isComplete {
            var groups: [String: [GroupText]] = [:]
            for (_, name) in sample.users {
                if let text = GroupText(name) { groups[text.group, default: []].append(text) }
            }
            for (group, members) in groups.sorted(by: { $0.key < $1.key })
            where members.count != members[0].size || Set(members.map(\.revision)).count != 1 {
                let revisions = Set(members.map(\.revision)).sorted()
                find(
                    "I10",
                    "\(sample.name) shows \(members.count) of the \(members[0].size) records of group \(group), of revisions \(revisions)"
                )
            }
        }
        for write in evidence.writes where write.kind == .group {
            let versions = write.texts.map { server.effects[$0]?.map(\.version) ?? [] }
            if Set(versions).count > 1 { find("I10", "\(write.words) is in the feed at \(versions)") }
        }
    }

    // MARK: I12

    private mutating func checkDeletions() {
        for id in server.changedAfterDeletion { find("I12", "the feed changes \(id) after its deletion") }
        for (id, version) in server.deletions.sorted(by: { $0.key < $1.key }) {
            if server.living.contains(id) { find("I12", "\(id) was deleted at \(version), and lives on the server") }
            for (name, replica) in replicas where replica.version >= version && replica.ids.contains(id) {
                find("I12", "\(name) stands at \(replica.version) and shows \(id), deleted at \(version)")
            }
        }
        for sample in evidence.samples {
            guard let reached = sample.version else { continue }
            for (id, name) in sample.users {
                if let version = server.deletions[id], version <= reached {
                    find(
                        "I12", "\(sample.name) stood at \(reached) and showed \(id) ('\(name)'), deleted at \(version)")
                }
            }
        }
    }

    // MARK: I18

    private mutating func checkRest() {
        for (name, replica) in replicas {
            if replica.unconfirmed > 0 { find("I18", "\(name) has \(replica.unconfirmed) unconfirmed transactions") }
            if !replica.isComplete { find("I18", "\(name) has no whole copy yet") }
            if replica.version != server.head {
                find("I18", "\(name) stands at \(replica.version), the server at \(server.head)")
            }
        }
        for (name, words) in evidence.complaints.sorted(by: { $0.key < $1.key }) {
            find("I18", "\(name) did not come to rest: \(words)")
        }
        for quiet in evidence.quiet where quiet.requests > quiet.allowed {
            find("I18", "\(quiet.device) asked \(quiet.requests) times in a quiet time, \(quiet.allowed) allowed")
        }
    }
}
