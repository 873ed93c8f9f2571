import SimulationRecipes
import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel
import SyncSimulation

extension PlantedBug {
    /// Makes the world change access rights often.
    @Sendable private static func changesRights(_ plan: inout WorldPlan) {
        plan.setting.devices = max(plan.setting.devices, 2)
        plan.rates.changeAccess = 0.05
    }

    /// The right of a principal to use a space.
    private struct Right: Hashable {
        let principal: Principal
        let space: SpaceID
    }

    /// Bugs in access control, and in what happens when a principal loses or regains access to a space.
    static let access: [PlantedBug] = [
        PlantedBug(
            "space kept without access", breaks: [.I21],
            "a device keeps the records of a space that its user may no longer read",
            parts: {
                .wrappingStores {
                    $0.onVacate = { (base, space, _, _, _) throws(StoreError) in
                        let session = try base.session()
                        let stored = StoredSpace(
                            space: space, cursor: nil, version: .zero, isComplete: false, hasAccess: false)
                        return .vacated(VacatedSpace(stored: stored, outbox: session.outbox, removedRecords: 0))
                    }
                }
            }, shape: changesRights),
        PlantedBug(
            "record left behind", breaks: [.I21], "one record of a vacated space stays on the device",
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
        PlantedBug(
            "base left behind", breaks: [.I21], "the base of an edited record stays when its space is vacated",
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
        PlantedBug(
            "space vacated without consent", breaks: [.I15],
            "a loss of access removes any number of records without the user's consent",
            parts: {
                .wrappingStores {
                    $0.onVacate = { (base, space, epoch, _, now) throws(StoreError) in
                        try base.vacate(space, of: epoch, brake: nil, now: now)
                    }
                }
            },
            shape: { plan in
                changesRights(&plan)
                plan.rates.emptyServer = 0.05
                plan.setting.policy.deleteBrake = DeleteBrake(records: 0, percent: 20)
            }),
        PlantedBug(
            "writes refused after access returns", breaks: [.I17],
            "the server still refuses writes in a space to which a principal has regained access",
            parts: {
                let withdrawn = Guarded<Set<Right>>([])
                return .narrowingAccess { (rules, principal, space, access) in
                    let right = Right(principal: principal, space: space)
                    guard rules.mayRead(space, principal) else {
                        withdrawn.withLock { _ = $0.insert(right) }
                        return false
                    }
                    return access == .read || !withdrawn.withLock { $0.contains(right) }
                }
            },
            shape: { plan in
                changesRights(&plan)
                // Few rights that change often, so that some of them return.
                plan.setting.spaceCount = 1
                plan.rates.changeAccess = 0.1
            }),
        PlantedBug(
            "outbox deleted with the access", breaks: [.I1, .I21],
            "the loss of access to a space deletes the outbox entries of that space",
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
        PlantedBug(
            "loss of access treated as a failure", breaks: [.I21],
            "a device that loses access to a space retries the pull and keeps the space",
            parts: {
                .wrappingTransports {
                    $0.onPull = { (base, request, _) async throws(TransportError) in
                        let response = try await base.pull(request)
                        if case .noAccess = response { throw TransportError(.forbidden, "no access") }
                        return response
                    }
                }
            }, shape: changesRights),
        PlantedBug(
            "access never back", breaks: [.I18, .I21],
            "a device that once lost access to a space never receives it again",
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
        PlantedBug(
            "rules for snapshots alone", breaks: [.I21], "a pull with a cursor is answered without a check of access",
            parts: {
                .wrappingAuthority {
                    $0.onPull = { (base, request, principal, now) throws(AuthorityError) in
                        let response = try base.pull(request, by: principal, now: now)
                        guard case .noAccess = response, request.cursor != nil else { return response }
                        return try base.pull(
                            request.with(account: .some(nil)), by: Principal(name: "operator"), now: now)
                    }
                }
            }, shape: changesRights),
        PlantedBug(
            "rules for readers alone", breaks: [.I21], "a principal without access to a space can still write in it",
            parts: {
                .wrappingAuthority(allowing: .everything) { service in
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

extension AccessRules {
    fileprivate static let everything = AccessRules([Rule(principals: .everyone, spaces: .all, access: .readAndWrite)])
}

extension WorldParts {
    /// Returns the real parts, with a check in place of the server's access rules.
    ///
    /// - Parameter allows: Returns whether a principal has the given access to a space, from the rules of the world.
    fileprivate static func narrowingAccess(
        _ allows: @escaping @Sendable (AccessRules, Principal, SpaceID, AccessRules.Access) -> Bool
    ) -> WorldParts {
        var parts = WorldParts.onSQLite()
        let open = parts.openAuthority
        parts.openAuthority = { process, setting, rules, histories in
            var checked = AccessRules.everything
            checked.check = AccessCheck(name: "planted") { allows(rules, $0, $1, $2) }
            return try open(process, setting, checked, histories)
        }
        return parts
    }
}
