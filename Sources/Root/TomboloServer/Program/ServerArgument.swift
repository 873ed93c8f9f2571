import ArgumentParser
import SyncAuthority
import SyncModel

/// Parses arguments of a server's commands, and throws a message with the expected form.
enum ServerArgument {
    @Sendable static func space(_ text: String) throws -> SpaceID {
        guard let space = SpaceID(rawValue: text) else {
            throw ValidationError("expected a-z, then a-z, 0-9, or _, at most 63 characters")
        }
        return space
    }

    @Sendable static func account(_ text: String) throws -> Principal {
        guard Principal.isValidName(text) else {
            throw ValidationError("expected up to 128 visible ASCII characters that do not begin with #")
        }
        return Principal(name: text)
    }

    @Sendable static func role(_ text: String) throws -> SpaceRole {
        guard let role = SpaceRole(rawValue: text) else { throw ValidationError("expected reader or writer") }
        return role
    }
}
