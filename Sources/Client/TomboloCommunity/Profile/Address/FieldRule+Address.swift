import SyncModel

extension FieldRule {
    /// The rule for an address: a JSON object with a kind. The parts are checked only if this build knows the kind and
    /// every part.
    static let address = FieldRule(name: "address") { json in
        do throws(InvalidAddressError) {
            try AddressCodec.address(json: json).validate()
            return nil
        } catch {
            return "is not a valid address: \(error)"
        }
    }
}
