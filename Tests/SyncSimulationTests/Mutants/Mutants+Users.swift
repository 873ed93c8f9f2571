import SimulationRecipes
import SyncAuthority
import SyncCore
import SyncModel
import SyncSimulation

extension Mutant {
    /// Bugs that only the users' oracle can detect, because the messages and the outcomes are correct.
    static let users: [Mutant] = [
        Mutant(
            "notices not sent", breaks: [.I1], "the server keeps to itself whose values gave way",
            parts: {
                .wrappingAuthority {
                    $0.onPull = { (base, request, principal, now) throws(AuthorityError) in
                        let response = try base.pull(request, by: principal, now: now)
                        guard case .page(let page) = response else { return response }
                        return .page(page.keeping { _ in false })
                    }
                }
            }, shape: apart),
        Mutant(
            "notices not kept", breaks: [.I1, .I15], "a device leaves out of its journal what gave way to a deletion",
            parts: {
                .wrappingStores {
                    $0.onApply = { (base, page, cursor, brake, now) throws(StoreError) in
                        let kept = page.keeping { $0.conflict.rule != .deleteWins }
                        return try base.apply(kept, after: cursor, brake: brake, now: now)
                    }
                }
            }, shape: apart),
        Mutant(
            "notices of copies ignored", breaks: [.I1],
            "a device is not told of what a copy of its database has overwritten under an id of both",
            parts: {
                .wrappingStores {
                    $0.onApply = { (base, page, cursor, brake, now) throws(StoreError) in
                        let own = try base.session().spaces.flatMap { $0.notices?.clients ?? [] }
                        let kept = page.keeping { !own.contains($0.conflict.winner.stamp.client) }
                        return try base.apply(kept, after: cursor, brake: brake, now: now)
                    }
                }
            },
            shape: { plan in
                apart(&plan)
                plan.setting.devices = 3
                plan.rates.cloneDevice = 0.03
            }),
        Mutant(
            "oldest identities forgotten", breaks: [.I1],
            "a device asks for notices under its last few identities only",
            parts: {
                .wrappingTransports {
                    $0.onPull = { (base, request, _) async throws(TransportError) in
                        try await base.pull(request.naming(lastClients: 17))
                    }
                }
            },
            shape: { plan in
                apart(&plan)
                plan.rates.refuseIdentities = 0.1
                plan.rates.recover = 0.05
                plan.setting.network = .calm
                plan.pause = .seconds(10)...(.seconds(100))
            }),
        Mutant(
            "newer values overwritten by forgotten ones", breaks: [.I1],
            "an entry about what the server has lost claims to have seen versions that came later",
            parts: {
                .plantingInStores(
                    """
                    CREATE TRIGGER IF NOT EXISTS planted AFTER INSERT ON sync_journal WHEN NEW.event = 'forgotten' BEGIN
                        UPDATE sync_journal SET payload = replace(payload, '"seen":', '"seen":9')
                        WHERE number = NEW.number;
                    END
                    """)
            },
            shape: { plan in
                apart(&plan)
                plan.rates.restoreServer = 0.03
            }),
        Mutant(
            "receipts not compared below the horizon", breaks: [.I1, .I7, .I15],
            "a server that was restored and has trimmed its feed does not look in its ledger",
            parts: {
                .wrappingAuthority {
                    $0.onPull = { (base, request, principal, now) throws(AuthorityError) in
                        let request = PullRequest(
                            space: request.space, cursor: request.cursor,
                            receipt: request.cursor == nil ? nil : request.receipt, limit: request.limit,
                            account: request.account, notices: request.notices)
                        return try base.pull(request, by: principal, now: now)
                    }
                    $0.onPush = { (base, request, principal, now) throws(AuthorityError) in
                        let request = PushRequest(
                            identity: request.identity, epoch: request.epoch, account: request.account,
                            cursors: request.cursors.filter { !$0.rawValue.contains(".receipt.") },
                            acknowledged: request.acknowledged, transactions: request.transactions)
                        return try base.push(request, by: principal, now: now)
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
    ].map { mutant in
        var mutant = mutant
        mutant.isFoundByUsers = true
        return mutant
    }

    /// Makes devices write without knowing each other's edits, so that conflicts occur.
    private static func apart(_ plan: inout WorldPlan) {
        plan.setting.devices = max(plan.setting.devices, 2)
        plan.rates.dropLink = max(plan.rates.dropLink, 0.05)
    }
}

extension PullPage {
    /// Returns this page with only the notices for which `isKept` returns true.
    fileprivate func keeping(_ isKept: (ConflictNotice) -> Bool) -> PullPage {
        PullPage(
            space: space, epoch: epoch, serverTime: serverTime, content: content, cursor: cursor, version: version,
            head: head, hasMore: hasMore, notices: notices.filter(isKept), hasMoreNotices: hasMoreNotices)
    }
}

extension PullRequest {
    /// Returns this request with only the newest client ids of the device.
    fileprivate func naming(lastClients count: Int) -> PullRequest {
        PullRequest(
            space: space, cursor: cursor, receipt: receipt, limit: limit, account: account,
            notices: notices.map { NoticeRequest(clients: Array($0.clients.prefix(count)), after: $0.after) })
    }
}
