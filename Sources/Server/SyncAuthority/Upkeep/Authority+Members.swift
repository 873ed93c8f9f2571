public import SyncModel

/// The members of spaces, for the operator of a server. Every authority over the same store sees a change with its next
/// call.
extension Authority {
    /// Gives a principal a role in a space, in place of its former one.
    ///
    /// - Parameter closes: whether `default` may get its first member, which closes it to every other account.
    public func admit(
        _ principal: Principal, to space: SpaceID, as role: SpaceRole, closingDefault closes: Bool = false
    ) throws(AuthorityError) -> MemberChange {
        try write { transaction in
            let all = try transaction.members()
            let members = all.filter { $0.space == space }
            let former = members.first { $0.principal == principal }?.role
            guard former != role else { return .unchanged }
            if former == nil {
                guard members.count < AuthorityLimits.membersPerSpace else {
                    return .tooMany(AuthorityLimits.membersPerSpace, inAllSpaces: false)
                }
                guard all.count < AuthorityLimits.members else {
                    return .tooMany(AuthorityLimits.members, inAllSpaces: true)
                }
                guard closes || space != .default || !members.isEmpty else { return .needsConsent }
            }
            try transaction.set(role, of: principal, in: space)
            return .changed(from: former, others: members.count - (former == nil ? 0 : 1))
        }
    }

    /// Removes a principal from a space.
    ///
    /// - Parameter opens: whether `default` may lose its last member, which opens it to every account.
    public func dismiss(
        _ principal: Principal, from space: SpaceID, openingDefault opens: Bool = false
    ) throws(AuthorityError) -> MemberChange {
        try write { transaction in
            let members = try transaction.members().filter { $0.space == space }
            guard let former = members.first(where: { $0.principal == principal })?.role else { return .unchanged }
            guard opens || space != .default || members.count > 1 else { return .needsConsent }
            try transaction.set(nil, of: principal, in: space)
            return .changed(from: former, others: members.count - 1)
        }
    }

    /// Returns the members of a space, ordered by account.
    public func members(of space: SpaceID) throws(AuthorityError) -> [SpaceMember] {
        try read { view in try view.members().filter { $0.space == space } }
    }
}

/// The result of a change of a space's members.
public enum MemberChange: Hashable, Sendable {
    /// The change was made. The principal had the role `from` before, or none, and the space has this number of other
    /// members.
    case changed(from: SpaceRole?, others: Int)
    /// The principal had the role already, or was no member to remove.
    case unchanged
    /// Nothing was changed: the space `default` would be closed to accounts, or opened to every account, and the caller
    /// did not agree to that.
    case needsConsent
    /// Nothing was changed, because there may be no more members than this in the space, or in all spaces together.
    case tooMany(Int, inAllSpaces: Bool)
}
