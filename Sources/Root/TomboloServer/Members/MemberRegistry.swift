public import SyncAuthority
public import SyncModel
public import SyncProgram

/// Changes and lists the members of spaces in the database of one or more servers.
///
/// A running server applies a change to the next request of the account. An open event stream of the account ends with
/// its next message.
public struct MemberRegistry {
    private let authority: Authority
    /// Whether the members have an effect, because no rule of the application decides about spaces.
    private let haveEffect: Bool

    init(_ authority: Authority, haveEffect: Bool) {
        self.authority = authority
        self.haveEffect = haveEffect
    }

    /// Gives an account a role in a space, in place of its former one.
    ///
    /// - Parameter closes: whether `default` may get its first member, which closes it to every other account.
    /// - Returns: a sentence about what has changed.
    public func set(
        _ account: Principal, in space: SpaceID, to role: SpaceRole, closingDefault closes: Bool
    ) throws -> TerminalText {
        guard haveEffect else {
            throw ConfigurationError(
                "this program decides about spaces by its own rule, so members would have no effect",
                advice: "change what that rule decides by, or remove the rule from the program")
        }
        switch try authority.admit(account, to: space, as: role, closingDefault: closes) {
        case .changed(from: nil, others: 0):
            return "\(account.name) is now a \(role.rawValue) of \(space), and its only member\n"
        case .changed(from: nil, others: _): return "\(account.name) is now a \(role.rawValue) of \(space)\n"
        case .changed(from: let former?, others: _):
            return "\(account.name) is now a \(role.rawValue) of \(space), and was a \(former.rawValue) before\n"
        case .unchanged: return "\(account.name) is a \(role.rawValue) of \(space) already\n"
        case .needsConsent:
            throw ConfigurationError(
                "nothing was changed: every account may use the space \(space), and its first member would close it to all others",
                advice:
                    "with --close-default, \(account.name) becomes the first member, and the devices of other accounts remove the space"
            )
        case .tooMany(let limit, let inAllSpaces):
            throw ConfigurationError(
                "nothing was changed: \(inAllSpaces ? "all spaces together have" : "\(space) has") \(limit) members; expected no more",
                advice: "remove members first, or decide about spaces by a rule of your own server program")
        }
    }

    /// Removes an account from a space.
    ///
    /// - Parameter opens: whether `default` may lose its last member, which opens it to every account.
    /// - Returns: a sentence about what has changed.
    /// - Throws: also if the account is not a member of the space, with the members that it has.
    public func remove(
        _ account: Principal, from space: SpaceID, openingDefault opens: Bool
    ) throws -> TerminalText {
        switch try authority.dismiss(account, from: space, openingDefault: opens) {
        case .changed(let former, let others):
            let was: TerminalText =
                "\(account.name) is no longer a member of \(space), and was a \(former?.rawValue ?? "member")"
            guard others == 0 else { return "\(was)\n" }
            return space == .default
                ? "\(was); \(space) has no members, so every account may read and write in it\n"
                : "\(was); \(space) has no members, so nobody may read or write in it\n"
        case .needsConsent:
            throw ConfigurationError(
                "nothing was changed: \(account.name) is the last member of \(space), which would be open to every account without it",
                advice:
                    "with --open-default, \(account.name) is removed, and every account may read and write in \(space)")
        case .unchanged, .tooMany:
            throw ConfigurationError(
                "\(account.name) is not a member of \(space); \(try describeMembers(of: space))",
                advice: "\(ServerOptions.program.name) space list shows the spaces with members")
        }
    }

    /// Returns the members of a space, ordered by account, one line each.
    public func lines(of space: SpaceID) throws -> [TerminalText] {
        try authority.members(of: space).map { "\($0.principal.name)\t\($0.role.rawValue)\n" }
    }

    /// Returns the spaces with members or commits, ordered by name, one line each.
    public func spaces() throws -> [TerminalText] {
        try authority.spaces().map { "\($0.space)\t\($0.members)\t\($0.head)\n" }
    }

    /// Maximum number of members that an error message names.
    private static let namedMembers = 10

    private func describeMembers(of space: SpaceID) throws(AuthorityError) -> String {
        let members = try authority.members(of: space)
        guard !members.isEmpty else { return "it has no members" }
        let names = members.prefix(Self.namedMembers).map { "\($0.principal.name) (\($0.role.rawValue))" }
        let others = members.count - names.count
        return "it has \(names.joined(separator: ", "))" + (others > 0 ? ", and \(others) more" : "")
    }
}
