import SimulationRecipes
import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel
import SyncSimulation

extension Mutant {
    /// Makes the world change access rights often.
    @Sendable private static func changesRights(_ plan: inout WorldPlan) {
        plan.setting.devices = max(plan.setting.devices, 2)
        plan.rates.changeAccess = 0.05
    }

    /// Bugs in access control, and in what happens when a principal loses or regains access to a space.
    static let access: [Mutant] = [
        Mutant(
            "space kept without access", breaks: [.I21], "what may not be read any more stays on the device",
            parts: {
                .wrappingStores {
                    $0.onVacate = { (base, space, _, _) throws(StoreError) in
                        let session = try base.session()
                        let stored = StoredSpace(
                            space: space, cursor: nil, version: .zero, isComplete: false, hasAccess: false)
                        return .vacated(VacatedSpace(stored: stored, outbox: session.outbox, removedRecords: 0))
                    }
                }
            }, shape: changesRights),
        Mutant(
            "record left behind", breaks: [.I21], "one record of a vacated space is overlooked",
            parts: {
                .plantingInStores(
                    """
                    CREATE TRIGGER IF NOT EXISTS planted AFTER UPDATE OF has_access ON sync_space
                    WHEN NEW.has_access = 0 AND OLD.has_access = 1 BEGIN
                        INSERT INTO customer (id, uid, version, sync_space, name)
                        VALUES (randomblob(16), -1, 1, NEW.key, 'left behind');
                    END
                    """)
            }, shape: changesRights
        )
        .ofStoredRows,
        Mutant(
            "base left behind", breaks: [.I21], "what was shown of a record that is changed here stays",
            parts: {
                .plantingInStores(
                    """
                    CREATE TRIGGER IF NOT EXISTS planted AFTER UPDATE OF has_access ON sync_space
                    WHEN NEW.has_access = 0 AND OLD.has_access = 1 BEGIN
                        INSERT INTO sync_base (collection, id, is_deleted, uid, version, fields, space)
                        VALUES ('customer', randomblob(16), 0, -1, 1, '{"name":"left behind"}', NEW.key);
                    END
                    """)
            }, shape: changesRights
        )
        .ofStoredRows,
        Mutant(
            "space vacated without consent", breaks: [.I15], "another server takes away what it never has shown",
            parts: {
                .wrappingStores {
                    $0.onVacate = { (base, space, epoch, _) throws(StoreError) in
                        try base.vacate(space, of: epoch, brake: nil)
                    }
                }
            },
            shape: { plan in
                changesRights(&plan)
                plan.rates.emptyServer = 0.05
                plan.setting.policy.deleteBrake = DeleteBrake(records: 0, percent: 20)
            }),
        Mutant(
            "writes refused after access returns", breaks: [.I17], "who may write again is refused as before",
            parts: {
                .wrappingAuthority { service in
                    service.onPush = { (base, request, principal, now) throws(AuthorityError) in
                        let response = try base.push(request, by: principal, now: now)
                        guard case .answered(let results, let epoch, let time) = response else { return response }
                        let planted = results.map { result in
                            result.number.rawValue % 9 != 8
                                ? result
                                : TransactionResult(
                                    number: result.number,
                                    outcome: .rejected(Rejection(code: .forbidden, message: "planted", mutation: nil)))
                        }
                        return .answered(planted, epoch: epoch, serverTime: time)
                    }
                }
            }, shape: changesRights),
        Mutant(
            "outbox deleted with the access", breaks: [.I1, .I21], "with a space goes what waits to be sent there",
            parts: {
                .plantingInStores(
                    """
                    CREATE TRIGGER IF NOT EXISTS planted AFTER UPDATE OF has_access ON sync_space
                    WHEN NEW.has_access = 0 BEGIN
                        UPDATE sync_meta SET waiting = waiting - (SELECT count(*) FROM sync_outbox
                            WHERE space = NEW.name AND number IS NULL);
                        DELETE FROM sync_outbox WHERE space = NEW.name AND number IS NULL;
                    END
                    """)
            }, shape: changesRights
        )
        .ofStoredRows,
        Mutant(
            "loss of access treated as a failure", breaks: [.I21], "who is refused a space tries again, and keeps it",
            parts: {
                .wrappingTransports {
                    $0.onPull = { (base, request, _) async throws(TransportError) in
                        let response = try await base.pull(request)
                        if case .noAccess = response { throw TransportError(.forbidden, "no access") }
                        return response
                    }
                }
            }, shape: changesRights),
        Mutant(
            "access never back", breaks: [.I18, .I21], "who was refused a space once is never shown it again",
            parts: {
                .wrappingTransports {
                    let refused = Guarded<[SpaceID: PullResponse]>([:])
                    $0.onPull = { (base, request, _) async throws(TransportError) in
                        if let response = refused.withLock({ $0[request.space] }) { return response }
                        let response = try await base.pull(request)
                        if case .noAccess = response { refused.withLock { $0[request.space] = response } }
                        return response
                    }
                }
            },
            shape: { plan in
                changesRights(&plan)
                // A restart of the device would discard the remembered response.
                plan.rates.killDevice = 0
                plan.rates.losePowerOfDevice = 0
                plan.rates.deviceDiskFault = 0
            }),
        Mutant(
            "rules for snapshots alone", breaks: [.I21], "who has a cursor is shown what follows, whoever that is",
            parts: {
                .wrappingAuthority {
                    $0.onPull = { (base, request, principal, now) throws(AuthorityError) in
                        let response = try base.pull(request, by: principal, now: now)
                        guard case .noAccess = response, request.cursor != nil else { return response }
                        let unasked = PullRequest(space: request.space, cursor: request.cursor, limit: request.limit)
                        return try base.pull(unasked, by: Principal(name: "operator"), now: now)
                    }
                }
            }, shape: changesRights),
        Mutant(
            "rules for readers alone", breaks: [.I21], "who may not read a space any more still writes in it",
            parts: {
                let everything = AccessRules([
                    AccessRules.Rule(principals: .everyone, spaces: .all, access: .readAndWrite)
                ])
                return .wrappingAuthority(allowing: everything) { service in
                    let rules = service.rules
                    service.onPull = { (base, request, principal, now) throws(AuthorityError) in
                        guard rules.mayRead(request.space, principal) else {
                            return .noAccess(try base.hello(for: principal, now: now).epoch)
                        }
                        return try base.pull(request, by: principal, now: now)
                    }
                }
            }, shape: changesRights),
    ]
}
