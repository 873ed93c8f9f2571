import SyncConcurrency
import SyncModel

/// The members of spaces as the store holds them, for rules by which they decide.
///
/// Another process may change them at any time, so every decision begins with the revision that its database
/// transaction sees. A change therefore takes effect with the next request to any server.
final class StoredMembers: Sendable {
    private let rules: AccessRules
    /// The members that were read last, and their revision. They are read again only when the revision has changed.
    private let known = Guarded((revision: Int64(0), members: SpaceMembers()))

    init(for rules: AccessRules) {
        self.rules = rules
    }

    /// Returns the rights at the moment of a database transaction with this state.
    func rights(at state: AuthorityState, in view: some AuthorityView) throws(AuthorityStoreError) -> SpaceRights {
        guard rules.membersDecide else { return SpaceRights(rules: rules, members: SpaceMembers()) }
        let last = known.withLock { $0 }
        guard state.memberRevision != last.revision else { return SpaceRights(rules: rules, members: last.members) }
        let members = SpaceMembers(try view.members())
        known.withLock { $0 = (state.memberRevision, members) }
        return SpaceRights(rules: rules, members: members)
    }

    /// Returns the rights at the moment of a database transaction. Reads the state of the store only if the members
    /// decide.
    func rights(in view: some AuthorityView) throws(AuthorityStoreError) -> SpaceRights {
        guard rules.membersDecide else { return SpaceRights(rules: rules, members: SpaceMembers()) }
        return try rights(at: try view.state(), in: view)
    }
}

/// The rights in spaces at one moment.
struct SpaceRights {
    let rules: AccessRules
    let members: SpaceMembers

    func mayRead(_ space: SpaceID, _ principal: Principal) -> Bool {
        rules.mayRead(space, principal, members: members)
    }

    func mayWrite(_ space: SpaceID, _ principal: Principal) -> Bool {
        rules.mayWrite(space, principal, members: members)
    }
}
