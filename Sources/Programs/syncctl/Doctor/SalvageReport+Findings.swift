import SyncCore

extension SalvageReport {
    /// The report as findings of `syncctl doctor`.
    var findings: [Finding] {
        [
            Finding(
                check: "salvage", level: .fixed,
                sentence:
                    "a new database is in its place; the damaged one is kept as \(keptFile), and syncctl sync downloads what the server has"
            ),
            finding("writes", outbox, of: ("unconfirmed write", "unconfirmed writes")),
            finding("journal", journal, of: ("entry of the journal", "entries of the journal")),
            identityFinding,
        ] + (perhapsSent > 0 ? [perhapsSentFinding] : [])
    }

    private func finding(_ check: String, _ count: Count, of names: (one: String, many: String)) -> Finding {
        func text(_ number: Int) -> String { "\(number) \(number == 1 ? names.one : names.many)" }
        guard let lost = count.lost else {
            return .attention(
                check, "\(text(count.saved)) saved; whether there were more cannot be told",
                advice: "keep \(keptFile): what was not found may still be in it")
        }
        guard lost > 0 else { return .fine(check, "\(text(count.saved)) saved, which is all") }
        return .attention(
            check,
            "\(text(count.saved)) saved; \(text(lost)) could not be read, and \(lost == 1 ? "is" : "are") lost here",
            advice: "write it again; keep \(keptFile), in which a part of it may be left")
    }

    private var identityFinding: Finding {
        switch identity {
        case .kept(let identity): .fine("identity", "this device is still \(identity)")
        case .renewed(let identity, let former):
            .fine("identity", "this device is \(identity) now, and tells the server that it was \(former)")
        case .unreadable(let identity):
            .attention(
                "identity",
                "who this device was cannot be read: it is \(identity) now, and belongs to the account of the next sync",
                advice:
                    "before the next sync, see that server.token-file is that of the same account (syncctl config show)"
            )
        }
    }

    private var perhapsSentFinding: Finding {
        .attention(
            "writes",
            "\(perhapsSent) of the saved writes were on their way: the server may have them, and gets them again",
            advice: "after the next sync, look for later changes of the same fields in syncctl journal")
    }
}
