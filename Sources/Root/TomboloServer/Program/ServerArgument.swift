import ArgumentParser
import SyncAuthority
import SyncModel
import SyncProgram

/// Parses arguments of a server's commands, and throws a message with the expected form.
enum ServerArgument {
    @Sendable static func space(_ text: String) throws -> SpaceID {
        guard let space = SpaceID(rawValue: text) else {
            throw ValidationError(
                "expected a lowercase letter, then up to 62 lowercase letters, digits, or underscores")
        }
        return space
    }

    @Sendable static func account(_ text: String) throws -> Principal {
        guard Principal.isValidName(text) else {
            throw ValidationError("expected 1 to 128 visible ASCII characters, the first of which is not #")
        }
        return Principal(name: text)
    }

    @Sendable static func client(_ text: String) throws -> ClientID {
        guard let client = ClientID(text) else {
            throw ValidationError(
                "expected a client id of 36 characters, as \(ServerOptions.program.name) clients lists it")
        }
        return client
    }

    @Sendable static func role(_ text: String) throws -> SpaceRole {
        guard let role = SpaceRole(rawValue: text) else { throw ValidationError("expected reader or writer") }
        return role
    }
}
