/// The reason why a JSON Web Token is refused. It is for the log: a response never contains it.
package enum WebTokenError: String, Error, Hashable, Sendable {
    // MARK: The form

    case form = "it is not three parts of base64url"
    case header = "its header is not a JSON object with unique keys"
    case payload = "its payload is not a JSON object with unique keys"

    // MARK: The header

    case algorithm = "its alg is not EdDSA, ES256, or RS256"
    case type = "its typ is neither JWT nor at+jwt"
    case critical = "its header has crit"
    case keyID = "its kid is not a string"

    // MARK: The key and the signature

    case noKeyID = "it has no kid, and several keys are of its alg"
    case unknownKey = "no key is of its kid and alg"
    case otherAlgorithm = "its alg is not that of its key"
    case signature = "its signature is not that of its key"

    // MARK: The claims

    case issuer = "its iss is not jwt.issuer"
    case audience = "its aud does not contain jwt.audience"
    case subject = "its sub is not a valid name of an account"
    case time = "its exp, nbf, or iat is missing, or is not a whole number of seconds since 1970"
    case expired = "it has expired"
    case notYetValid = "its nbf or iat is in the future"
}
