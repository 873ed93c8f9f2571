package import Foundation
import SyncJSON

/// A configuration file: JSON in which each dot of a setting's name stands for a nested object.
package struct ConfigurationFile: Sendable {
    package let path: String
    /// The values by dotted key name.
    package let values: [String: GivenValue]
    /// The dotted names of the objects, including empty ones.
    let sections: Set<String>
    /// The permissions, if others than the owner have any; nil for other files.
    let openPermissions: mode_t?

    /// An example that is valid for every program.
    private static let example = #"{"log": {"level": "debug"}}"#

    /// The largest file that is read, in bytes. A megabyte of configuration is a mistake.
    private static let largestSize = 1_048_576

    /// Reads the file that a flag or the environment variable names, or else the file at the usual path; nil if that
    /// does not exist.
    ///
    /// - Throws: when a named file is missing, or when the file is invalid.
    static func find(
        named flag: String?, _ program: ProgramNames, _ variables: [String: String]
    ) throws(ConfigurationError) -> ConfigurationFile? {
        if let named = flag ?? variables[program.fileVariable], flag != nil || !named.isEmpty {
            return try ConfigurationFile(path: ProgramNames.expanded(named, variables))
        }
        guard let usual = program.configurationFile(variables), mayExist(usual) else { return nil }
        return try ConfigurationFile(path: usual)
    }

    /// Whether there is something at the path, or it is unknown. A link without a target and a folder that cannot be
    /// searched must not look like a missing file: the program would use other settings than its user has written.
    private static func mayExist(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 || (errno != ENOENT && errno != ENOTDIR)
    }

    init(path: String) throws(ConfigurationError) {
        let data: Data
        var status = stat()
        switch RegularFile.open(path, allowsInherited: true) {
        case .refused(let reason):
            throw ConfigurationError("the configuration file \(path) was not read: \(reason)")
        case .open(let descriptor):
            let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            fstat(descriptor, &status)
            do {
                data = try handle.read(upToCount: Self.largestSize + 1) ?? Data()
            } catch {
                throw ConfigurationError("the configuration file \(path) was not read: it cannot be read")
            }
        }
        guard data.count <= Self.largestSize else {
            throw ConfigurationError("the configuration file \(path) is larger than \(Self.largestSize) bytes")
        }
        let isOpen = status.st_mode & S_IFMT == S_IFREG && status.st_mode & 0o077 != 0
        try self.init(path: path, text: data, openPermissions: isOpen ? status.st_mode & 0o7777 : nil)
    }

    package init(path: String, text: Data, openPermissions: mode_t? = nil) throws(ConfigurationError) {
        self.path = path
        self.openPermissions = openPermissions
        let tree: JSONValue
        do throws(JSONError) {
            tree = try JSONValue(Array(text))
        } catch {
            throw ConfigurationError("the configuration file \(path) is not JSON: \(error)")
        }
        guard case .object(let members) = tree else {
            throw ConfigurationError(
                "the configuration file \(path) is not a JSON object; expected one such as \(Self.example)")
        }
        var values: [String: GivenValue] = [:]
        var sections: Set<String> = []
        try Self.flatten(members, below: "", into: &values, &sections, path: path)
        self.values = values
        self.sections = sections
    }

    private static func flatten(
        _ members: [JSONValue.Member], below prefix: String, into values: inout [String: GivenValue],
        _ sections: inout Set<String>, path: String
    ) throws(ConfigurationError) {
        for member in members {
            let name = prefix + member.key
            let text: String
            let type: String
            switch member.value {
            case .object(let inner):
                sections.insert(name)
                try flatten(inner, below: name + ".", into: &values, &sections, path: path)
                continue
            // Editors use this key to find the schema.
            case .string where name == "$schema": continue
            case .string(let string): (text, type) = (string, "string")
            case .integer(let number): (text, type) = ("\(number)", "integer")
            case .boolean(let bool): (text, type) = ("\(bool)", "boolean")
            case .null, .real, .array:
                throw ConfigurationError(
                    "\(name) in \(path) is \(member.value.kind); expected a string, a whole number, true or false, or an object such as \(example)"
                )
            }
            // The same key can be written nested and with a dot.
            let value = GivenValue(text: text, source: .file(path), jsonType: type)
            guard values.updateValue(value, forKey: name) == nil else {
                throw ConfigurationError("\(name) occurs twice in \(path)")
            }
        }
    }
}

extension JSONValue {
    /// The kind of the value, for error messages. They do not show the value, which may be a secret.
    fileprivate var kind: String {
        switch self {
        case .null: "null"
        case .real: "a number with a fraction, or one beyond 64 bits"
        case .array: "a list"
        case .boolean: "a boolean"
        case .integer: "an integer"
        case .string: "a string"
        case .object: "an object"
        }
    }
}
