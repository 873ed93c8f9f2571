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
            finding(
                "writes", outbox, of: ("unconfirmed write", "unconfirmed writes"),
                offer: offered == 0
                    ? "run syncctl sync: then the journal offers what the records still had of them; enter the rest again"
                    : "the journal offers what their records still had (\(offered) \(offered == 1 ? "record" : "records")): read it with syncctl journal, and write it again with syncctl journal restore --lost"
            ),
            finding("journal", journal, of: ("entry of the journal", "entries of the journal"), offer: nil),
            recordsFinding,
            identityFinding,
        ] + (perhapsSent > 0 ? [perhapsSentFinding] : []) + (spaces.lost == 0 ? [] : [spacesFinding])
            + (knowsOwnVersions ? [] : [ownVersionsFinding])
    }

    private var spacesFinding: Finding {
        .attention(
            "spaces", "not all spaces that this device follows could be read; \(spaces.saved) saved",
            advice: "run syncctl status, and let the application follow the missing ones again")
    }

    private var ownVersionsFinding: Finding {
        .attention(
            "history",
            "the list of values that this device has written could not be read: if the server is restored from an older copy, the device may not notice that one of them is lost",
            advice: "keep \(keptFile) until the server has a backup that is newer than this repair")
    }

    private var recordsFinding: Finding {
        let saved = "\(records.saved) \(records.saved == 1 ? "record" : "records") of the server saved"
        guard records.lost != 0 else {
            return .fine("records", "\(saved), none lost; the next sync compares them with the server's")
        }
        return .fine(
            "records",
            "\(saved), and \(records.lost.map(String.init) ?? "some") could not be read: the next sync downloads them, unless the server has lost them, too"
        )
    }

    /// - Parameter offer: the advice about the contents of lost entries; nil if nothing has them.
    private func finding(
        _ check: String, _ count: Count, of names: (one: String, many: String), offer: String?
    ) -> Finding {
        func text(_ number: Int) -> String { "\(number) \(number == 1 ? names.one : names.many)" }
        guard let lost = count.lost else {
            return .attention(
                check, "\(text(count.saved)) saved; there may have been more",
                advice: (offer.map { "\($0); " } ?? "") + "keep \(keptFile): it may still contain more")
        }
        guard lost > 0 else { return .fine(check, "\(text(count.saved)) saved, none lost") }
        return .attention(
            check,
            "\(text(count.saved)) saved; \(text(lost)) could not be read, and \(lost == 1 ? "is" : "are") lost here",
            advice: "\(offer ?? "enter the lost data again"); keep \(keptFile), which may still contain a part of it")
    }

    private var identityFinding: Finding {
        switch identity {
        case .kept(let identity): .fine("identity", "this device is still \(identity)")
        case .renewed(let identity, let former):
            .fine("identity", "this device is \(identity) now, and reports its former identity \(former) to the server")
        case .unreadable(let identity):
            .attention(
                "identity",
                "the identity of this device could not be read: it is \(identity) now, and will belong to the account of the next sync",
                advice:
                    "before the next sync, check that server.token-file has the token of the same account (syncctl config show)"
            )
        }
    }

    private var perhapsSentFinding: Finding {
        .attention(
            "writes",
            "\(perhapsSent) of the saved writes may have been sent before: they are sent again",
            advice: "after the next sync, check syncctl journal for later changes of the same fields")
    }
}
