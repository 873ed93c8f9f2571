import SimulationRecipes
import SyncAuthority
import SyncCore
import SyncModel
import SyncSimulation

extension PlantedBug {
    /// Bugs that the users' oracle must detect: a user never learns that a value was lost, although each message and
    /// each outcome looks correct.
    static let users: [PlantedBug] = [
        PlantedBug(
            "notices not sent", breaks: [.I1], "the server sends no notices of conflicts",
            parts: {
                .wrappingAuthority {
                    $0.onPull = { (base, request, principal, now) throws(AuthorityError) in
                        let response = try base.pull(request, by: principal, now: now)
                        guard case .page(let page) = response else { return response }
                        return .page(page.with(notices: []))
                    }
                }
            }, shape: writeConcurrently),
        PlantedBug(
            "removed notices not told", breaks: [.I1],
            "the server removes old conflicts, and does not tell the devices that have not fetched them",
            parts: {
                .wrappingAuthority {
                    $0.onPull = { (base, request, principal, now) throws(AuthorityError) in
                        let response = try base.pull(request, by: principal, now: now)
                        guard case .page(let page) = response else { return response }
                        return .page(page.with(noticesRemovedUpTo: .some(nil)))
                    }
                }
            },
            shape: { plan in
                writeConcurrently(&plan)
                plan.rates.trimConflicts = 0.2
            }),
        PlantedBug(
            "notices said to be missing", breaks: [.I6],
            "the server tells each new device that notices were removed, although none were",
            parts: {
                .wrappingAuthority {
                    $0.onPull = { (base, request, principal, now) throws(AuthorityError) in
                        let response = try base.pull(request, by: principal, now: now)
                        guard case .page(let page) = response, request.notices?.after == 0 else { return response }
                        return .page(page.with(noticesRemovedUpTo: .some(1)))
                    }
                }
            }),
        PlantedBug(
            "notices not kept", breaks: [.I1, .I15], "a device ignores notices of values that lost to a deletion",
            parts: {
                .wrappingStores {
                    $0.onApply = { (base, page, cursor, brake, now) throws(StoreError) in
                        let kept = page.with(notices: page.notices.filter { $0.conflict.rule != .deleteWins })
                        return try base.apply(kept, after: cursor, brake: brake, now: now)
                    }
                }
            }, shape: writeConcurrently),
        form(
            "form taken for the newest",
            "an edit in a form claims to have seen values that arrived after the form was opened"
        ) { (_, edits, seen) in edits.contains(where: \.isDelete) ? seen : [:] },
        form(
            "delete in a form taken for the newest",
            "a delete in a form claims to have seen values that arrived after the form was opened"
        ) { (_, edits, seen) in edits.contains(where: \.isDelete) ? [:] : seen },
        form(
            "forms compared by version",
            "an edit in a form replaces a value of the same device that its user did not see"
        ) { (base, _, seen) throws(StoreError) in
            var known = seen
            for (address, fields) in seen {
                guard let record = try base.record(address.collection, .id(address.id)),
                    let schema = base.catalog[address.collection]
                else { continue }
                for (name, field) in fields {
                    guard let position = schema.position(of: name) else { continue }
                    known[address]?[name] = SeenField(record.values[position], at: field.version)
                }
            }
            return known
        },
        PlantedBug(
            "notices of copies ignored", breaks: [.I1],
            "a device ignores notices of values that a copy of its database has overwritten under a shared client id",
            parts: {
                .wrappingStores {
                    $0.onApply = { (base, page, cursor, brake, now) throws(StoreError) in
                        let own = try base.session().spaces.flatMap { $0.notices?.clients ?? [] }
                        let others = page.notices.filter { !own.contains($0.conflict.winner.stamp.client) }
                        return try base.apply(
                            page.with(notices: others), after: cursor, brake: brake, now: now)
                    }
                }
            },
            shape: { plan in
                writeConcurrently(&plan)
                plan.setting.hasForms = false
                plan.setting.devices = 2
                plan.rates.cloneDevice = 0.03
            }),
        PlantedBug(
            "oldest identities forgotten", breaks: [.I1],
            "a device asks for notices under its last few identities only",
            parts: {
                .wrappingTransports {
                    $0.onPull = { (base, request, _) async throws(TransportError) in
                        try await base.pull(request.limitedToNewestClients(17))
                    }
                }
            },
            shape: { plan in
                writeConcurrently(&plan)
                plan.rates.refuseIdentities = 0.1
                plan.rates.recover = 0.05
                plan.setting.network = .calm
                plan.pause = .seconds(10)...(.seconds(100))
            }),
        PlantedBug(
            "receipts not compared below the horizon", breaks: [.I1, .I7, .I15],
            "a server that was restored and has trimmed its feed does not compare receipts with its ledger",
            parts: {
                .wrappingAuthority {
                    $0.onPull = { (base, request, principal, now) throws(AuthorityError) in
                        let request = request.cursor == nil ? request.with(receipt: .some(nil)) : request
                        return try base.pull(request, by: principal, now: now)
                    }
                    $0.onPush = { (base, request, principal, now) throws(AuthorityError) in
                        let cursors = request.cursors.filter { !$0.rawValue.contains(".receipt.") }
                        return try base.push(request.with(cursors: cursors), by: principal, now: now)
                    }
                }
            },
            shape: { plan in
                plan.setting.spaceCount = 1
                plan.setting.network = .calm
                plan.pause = .seconds(10)...(.seconds(100))
                plan.rates = WorldPlan.Rates()
                plan.rates.restoreServerBehindHorizon = 0.03
            }),
    ].map { bug in
        var bug = bug
        bug.isFoundByUsers = true
        return bug
    }

    /// Makes users edit while values of others arrive.
    /// A bug in what a device believes that the user of a form has seen.
    private static func form(
        _ name: String, _ sentence: String,
        claim: @escaping @Sendable (SimulatedDevice.Store, [RecordEdit], SeenFields) throws(StoreError) -> SeenFields
    ) -> PlantedBug {
        PlantedBug(
            name, breaks: [.I1], sentence,
            parts: {
                .wrappingStores {
                    $0.onCommit = { (base, edits, seen, space, now) throws(StoreError) in
                        try base.commit(edits, seen: try claim(base, edits, seen), in: space, now: now)
                    }
                }
            }, shape: editForms)
    }

    private static func editForms(_ plan: inout WorldPlan) {
        plan.setting.devices = 4
        plan.setting.network = .calm
        plan.steps = 400
    }

    /// Makes devices write without having seen each other's edits, so that conflicts occur.
    private static func writeConcurrently(_ plan: inout WorldPlan) {
        plan.setting.devices = max(plan.setting.devices, 2)
        plan.rates.dropLink = max(plan.rates.dropLink, 0.05)
    }
}

extension PullRequest {
    /// Returns this request with only the newest client ids of the device.
    fileprivate func limitedToNewestClients(_ count: Int) -> PullRequest {
        with(notices: notices.map { NoticeRequest(clients: Array($0.clients.prefix(count)), after: $0.after) })
    }
}

extension RecordEdit {
    fileprivate var isDelete: Bool { if case .delete = self { true } else { false } }
}
