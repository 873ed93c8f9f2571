import SimulationRecipes
import SyncAuthority
import SyncConcurrency
import SyncModel
import SyncSimulation

extension PlantedBug {
    private static func authority(
        _ name: String, breaks: [Invariant], _ sentence: String, settings: SQLiteParts = SQLiteParts(),
        shape: @escaping @Sendable (inout WorldPlan) -> Void = { _ in },
        plant: @escaping @Sendable (inout PlantedAuthority) -> Void
    ) -> PlantedBug {
        PlantedBug(name, breaks: breaks, sentence, parts: { .wrappingAuthority(settings, plant) }, shape: shape)
    }

    /// Makes devices delete berths whose latest edits they have not seen.
    @Sendable private static func editConcurrently(_ plan: inout WorldPlan) {
        plan.setting.devices = 4
        plan.steps = 1_200
        plan.rates.dropLink = max(plan.rates.dropLink, 0.08)
    }

    /// Bugs in the server's responses to hellos, pushes, and pulls.
    static let authorities: [PlantedBug] = [
        authority(
            "acknowledged commit not applied", breaks: [.I1, .I5, .I9],
            "the last transaction of a push is confirmed but not applied"
        ) {
            $0.onPush = { (base, request, principal, now) throws(AuthorityError) in
                guard request.transactions.count > 1, let last = request.transactions.last else {
                    return try base.push(request, by: principal, now: now)
                }
                let cut = request.with(transactions: Array(request.transactions.dropLast()))
                guard case .answered(var results, let epoch, let time) = try base.push(cut, by: principal, now: now),
                    case .applied(let version, _, _)? = results.last?.outcome
                else { return try base.push(request, by: principal, now: now) }
                let outcome = Outcome.applied(version: version, uids: [], conflicts: [])
                results.append(TransactionResult(number: last.number, outcome: outcome))
                return .answered(results, epoch: epoch, serverTime: time)
            }
        },
        authority("one ledger for all clients", breaks: [.I2, .I16, .I18], "all clients share one identity") {
            $0.onPush = { (base, request, principal, now) throws(AuthorityError) in
                try principal.check(isMeantBy: request.account)
                let shared = ClientIdentity(client: ClientID(bits: Identifier128(high: 1, low: 1)), incarnation: 0)
                return try base.push(
                    request.with(identity: shared, account: .some(nil)), by: Principal(name: "all"), now: now)
            }
        },
        authority(
            "some numbers refused forever", breaks: [.I17, .I18, .I16],
            "a push whose first number leaves a remainder of 4 by 5 is always an identity conflict"
        ) {
            $0.onPush = { (base, request, principal, now) throws(AuthorityError) in
                if let first = request.transactions.first, first.number.rawValue % 5 == 4 {
                    return .refused(.identityConflict(number: first.number))
                }
                return try base.push(request, by: principal, now: now)
            }
        },
        authority(
            "conflicts not reported", breaks: [.I6], "outcomes omit the conflicts, and so the losing values",
            shape: {
                // Conflicts occur when devices write without having seen each other's edits.
                $0.setting.devices = max($0.setting.devices, 2)
                $0.rates.dropLink = max($0.rates.dropLink, 0.05)
            },
            plant: {
                $0.onPush = { (base, request, principal, now) throws(AuthorityError) in
                    let response = try base.push(request, by: principal, now: now)
                    guard case .answered(let results, let epoch, let time) = response else { return response }
                    return .answered(results.map(\.withoutConflicts), epoch: epoch, serverTime: time)
                }
            }),
        authority(
            "rule forgotten", breaks: [.I17], "the server commits every second transaction that a rule rejects",
            shape: { $0.setting.hasRule = true },
            plant: {
                $0.onVerdict = { verdict in
                    guard verdict.planned.number.rawValue.isMultiple(of: 2) else { return verdict }
                    return RuleVerdict(on: verdict.planned, rejection: nil)
                }
            }),
        authority(
            "rule mistaken", breaks: [.I17], "the rejection by a rule states another reason",
            shape: { $0.setting.hasRule = true },
            plant: {
                $0.onVerdict = { verdict in
                    RuleVerdict(
                        on: verdict.planned,
                        rejection: verdict.rejection.map {
                            Rejection(code: .missingRecord, message: $0.message, mutation: $0.mutation)
                        })
                }
            }),
        authority(
            "deletes win over edits", breaks: [.I5],
            "the server deletes records with unseen edits, although the model says that edits win",
            shape: editConcurrently,
            plant: { $0.isLenient = { (_, _, _, _) in true } }),
        authority(
            "emptied fields do not win", breaks: [.I5],
            "the server deletes a record whose field was emptied unseen, although the model says that edits win",
            shape: editConcurrently,
            plant: {
                $0.isLenient = { (base, request, principal, now) throws(AuthorityError) in
                    for transaction in request.transactions.map(\.transaction) {
                        for mutation in transaction.mutations {
                            guard case .delete = mutation.intent,
                                base.catalog[mutation.collection]?.deleteRule == .editWins
                            else { continue }
                            let fetch = FetchRequest(
                                space: transaction.space, collection: mutation.collection, key: .id(mutation.record))
                            let record = try base.fetch(fetch, by: principal, now: now)
                            // The required reference of a berth always has a value.
                            if record?.values.dropFirst().contains(where: { !$0.isNull }) == true { return false }
                        }
                    }
                    return true
                }
            }),
        authority(
            "seen edits win", breaks: [.I17], "the server rejects a delete although its author has seen all edits",
            shape: editConcurrently,
            plant: {
                $0.onPush = { (base, request, principal, now) throws(AuthorityError) in
                    let models = base.catalog.models.filter { $0.deleteRule == .editWins }.map(\.collection)
                    let blind = request.transactions.map { $0.withDeletes(of: Set(models), seeing: .zero) }
                    return try base.push(request.with(transactions: blind), by: principal, now: now)
                }
            }),
        authority("outcomes in another order", breaks: [.I3], "the first two outcomes of a push are swapped") {
            $0.onPush = { (base, request, principal, now) throws(AuthorityError) in
                let response = try base.push(request, by: principal, now: now)
                guard case .answered(var results, let epoch, let time) = response else { return response }
                if results.count > 1 { results.swapAt(0, 1) }
                return .answered(results, epoch: epoch, serverTime: time)
            }
        },
        authority(
            "no reset below the horizon", breaks: [.I14], "a client below the horizon skips the commits it has missed",
            shape: {
                $0.rates.compactServer = 0.1
                $0.rates.dropLink = 0.1
                $0.rates.recover = 0.1
            },
            plant: {
                $0.onPull = { (base, request, principal, now) throws(AuthorityError) in
                    let response = try base.pull(request, by: principal, now: now)
                    guard case .mustReset(.horizon) = response, request.cursor != nil else { return response }
                    // Returns the cursor of a finished snapshot without any of its rows.
                    var cursor: Cursor?
                    while true {
                        let fresh = try base.pull(
                            PullRequest(space: request.space, cursor: cursor, limit: 500), by: principal, now: now)
                        guard case .page(let page) = fresh else { return fresh }
                        if !page.hasMore { return .page(page.with(.commits([]))) }
                        cursor = page.cursor
                    }
                }
            }),
        authority("reset without need", breaks: [.I14, .I18], "a valid cursor is sometimes refused") {
            $0.onPull = { (base, request, principal, now) throws(AuthorityError) in
                if request.cursor?.rawValue.contains("log.") == true, now.milliseconds % 5 == 0 {
                    return .mustReset(.horizon)
                }
                return try base.pull(request, by: principal, now: now)
            }
        },
        authority("reset forever", breaks: [.I18, .I14], "every cursor of the change feed is refused") {
            $0.onPull = { (base, request, principal, now) throws(AuthorityError) in
                if request.cursor?.rawValue.contains("log.") == true { return .mustReset(.horizon) }
                return try base.pull(request, by: principal, now: now)
            }
        },
        authority("commit skipped in a page", breaks: [.I9, .I8, .I18], "the second commit of a page is left out") {
            $0.onPull = { (base, request, principal, now) throws(AuthorityError) in
                let response = try base.pull(request, by: principal, now: now)
                guard case .page(let page) = response, case .commits(var commits) = page.content, commits.count > 2
                else { return response }
                commits.remove(at: 1)
                return .page(page.with(.commits(commits)))
            }
        },
        authority(
            "last commit of a page skipped", breaks: [.I9, .I8, .I18],
            "the cursor of a page points past a commit that the page omits"
        ) {
            $0.onPull = { (base, request, principal, now) throws(AuthorityError) in
                let response = try base.pull(request, by: principal, now: now)
                guard case .page(let page) = response, case .commits(let commits) = page.content, commits.count > 1
                else { return response }
                return .page(
                    page.with(.commits(Array(commits.dropLast())), version: commits[commits.count - 2].version))
            }
        },
        authority("uncommitted head", breaks: [.I9, .I18], "a page names a head that was never committed") {
            $0.onPull = { (base, request, principal, now) throws(AuthorityError) in
                let response = try base.pull(request, by: principal, now: now)
                guard case .page(let page) = response else { return response }
                return .page(page.with(head: page.head.next))
            }
        },
        PlantedBug(
            "restored without a new epoch", breaks: [.I15, .I18, .I9, .I5],
            "the hello still names the epoch of the first history",
            parts: {
                let first = Guarded<Epoch?>(nil)
                return .wrappingAuthority {
                    $0.onHello = { hello in
                        let epoch = first.withLock { first in
                            if first == nil { first = hello.epoch }
                            return first ?? hello.epoch
                        }
                        return hello.with(epoch: epoch)
                    }
                }
            }, shape: { $0.rates.restoreServer = 0.03 }),
        authority(
            "stamps from the future", breaks: [.I22], "a stamp may be 11 days in the future",
            settings: {
                var settings = SQLiteParts()
                settings.authority.permittedSkew = .seconds(1_000_000)
                return settings
            }(),
            shape: {
                $0.rates.jumpClock = 0.2
                $0.rates.killServer = 0
                $0.rates.losePowerOfServer = 0
                $0.rates.serverDiskFault = 0
                $0.rates.restoreServer = 0
            },
            plant: { _ in }),
        authority(
            "transactions with several mutations refused", breaks: [.I17, .I18],
            "a push of one transaction with several mutations is refused as too large",
            settings: SQLiteParts()
        ) {
            $0.onPush = { (base, request, principal, now) throws(AuthorityError) in
                if request.transactions.count == 1, request.transactions[0].transaction.mutations.count > 1 {
                    throw AuthorityError(.tooLarge, "planted")
                }
                return try base.push(request, by: principal, now: now)
            }
        },
        authority(
            "account of a push ignored", breaks: [.I21, .I16], "a push is accepted with the token of another account",
            shape: { $0.rates.changeUser = 0.1 },
            plant: {
                $0.onPush = { (base, request, principal, now) throws(AuthorityError) in
                    try base.push(request.with(account: .some(nil)), by: principal, now: now)
                }
            }),
        authority("valid writes rejected", breaks: [.I17], "every ninth transaction is reported as rejected") {
            $0.onPush = { (base, request, principal, now) throws(AuthorityError) in
                let response = try base.push(request, by: principal, now: now)
                guard case .answered(let results, let epoch, let time) = response else { return response }
                let planted = results.map { result in
                    result.number.rawValue % 9 != 8
                        ? result
                        : TransactionResult(
                            number: result.number,
                            outcome: .rejected(Rejection(code: .invalidValue, message: "planted", mutation: nil)))
                }
                return .answered(planted, epoch: epoch, serverTime: time)
            }
        },
    ]
}
