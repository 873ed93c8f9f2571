package import SyncAuthority

/// An error of a database.
package protocol DatabaseFailure: Error {
    /// Converts the error to one of the port, without adding a path or a value to the message.
    ///
    /// - Parameter action: the verb phrase for the message: "read a record" makes "could not read a record".
    func authorityError(during action: String) -> AuthorityStoreError
}

extension AuthorityStoreError {
    /// Calls `body`, and converts its error to one of the port.
    ///
    /// - Parameter action: the verb phrase for the message: "read a record" makes "could not read a record".
    package static func converting<Value>(
        _ action: String, _ body: () throws -> Value
    ) throws(AuthorityStoreError) -> Value {
        do {
            return try body()
        } catch let error as AuthorityStoreError {
            throw error
        } catch let error as any DatabaseFailure {
            throw error.authorityError(during: action)
        } catch {
            throw AuthorityStoreError(.inputOutput, "could not \(action): \(error)")
        }
    }
}
