import SyncModel

extension FieldSchema {
    /// Returns the reason why a catalog with this field could not be read again, as a sentence that names the field;
    /// nil if it could.
    ///
    /// `FieldSchema` accepts more than the format has: schemas are also written by hand.
    ///
    /// - Parameter collection: the collection of the field.
    func encodingProblem(in collection: CollectionName) -> String? {
        let place = "\(collection).\(name)"
        let lengths = 0...SchemaLimits.transactionBytes
        if type.hasLength, !lengths.contains(minimumBytes) || !lengths.contains(maximumBytes) {
            return "\(place) has the length \(minimumBytes)...\(maximumBytes) bytes; expected a range within \(lengths)"
        }
        if let rule, rule.name.utf8.count > WireLimits.opaqueBytes {
            return "\(place) has a rule whose name is longer than \(WireLimits.opaqueBytes) bytes"
        }
        switch (bounds, type) {
        case (nil, _), (.integer, .integer), (.integer, .real): break
        case (.real(let range)?, .real):
            guard range.lowerBound.isFinite, range.upperBound.isFinite else {
                return "\(place) has the range \(range.lowerBound) to \(range.upperBound); expected finite numbers"
            }
        case (.real(let range)?, .integer):
            return "\(place) has the range \(range.lowerBound) to \(range.upperBound); expected integers"
        case (_?, .boolean), (_?, .text), (_?, .reference), (_?, .json):
            return "\(place) is \(type.rawValue) and has a range; only integer and real fields have one"
        }
        return defaultProblem(in: collection)
    }

    private func defaultProblem(in collection: CollectionName) -> String? {
        guard !defaultValue.isNull else { return nil }
        if let problem = problem(with: defaultValue) {
            let error = InvalidValueError(collection: collection, field: name, problem: problem)
            return "the default breaks the field's own limits: \(error)"
        }
        guard case .json(let text) = defaultValue, !CatalogCodec.isJSON(text) else { return nil }
        return "the default of \(collection).\(name) is not JSON"
    }
}
