import Crypto
public import SyncModel

/// The rights of a member in a space.
public enum SpaceRole: String, Hashable, Sendable, CaseIterable {
    /// Reads the records of the space.
    case reader
    /// Reads and writes the records of the space.
    case writer

    var access: AccessRules.Access {
        switch self {
        case .reader: .read
        case .writer: .readAndWrite
        }
    }
}

/// An account that an operator has admitted to a space.
public struct SpaceMember: Hashable, Sendable {
    /// The space.
    public let space: SpaceID
    /// The account, which need not have a token yet.
    public let principal: Principal
    /// The rights of the account in the space.
    public let role: SpaceRole

    /// Creates a member.
    public init(space: SpaceID, principal: Principal, role: SpaceRole) {
        self.space = space
        self.principal = principal
        self.role = role
    }
}

extension SpaceMember {
    /// Returns the revision of the members after a change.
    ///
    /// Only the same changes in the same order give the same revision. A database that has lost some changes and then gets
    /// others therefore never has the revision of members that a server still keeps in memory.
    ///
    /// - Parameters:
    ///   - revision: the revision before the change; 0 before the first one.
    ///   - role: the new role of the principal; nil if it was removed.
    package static func revision(
        after revision: Int64, _ role: SpaceRole?, of principal: Principal, in space: SpaceID
    ) -> Int64 {
        // None of these texts has a line break.
        let change = "\(revision)\n\(space.rawValue)\n\(principal.name)\n\(role?.rawValue ?? "")"
        var hash = SHA256()
        hash.update(data: Array(change.utf8))
        return Int64(hash.finalize().prefix(7).reduce(0) { $0 << 8 | UInt64($1) })
    }
}

/// The members of all spaces.
public struct SpaceMembers: Hashable, Sendable {
    private var spaces: [SpaceID: [Principal: SpaceRole]] = [:]

    /// Creates the members of all spaces from a list in any order. Without members, the rules decide everywhere.
    public init(_ members: [SpaceMember] = []) {
        for member in members { spaces[member.space, default: [:]][member.principal] = member.role }
    }

    /// Returns the roles of a space's members; nil if it has none.
    func roles(in space: SpaceID) -> [Principal: SpaceRole]? { spaces[space] }
}
