import Foundation
public import SyncModel
import SyncWire

/// A file with the models of an application, in the format that `Schemas/catalog` describes.
public enum CatalogFile {
    /// The largest file that is read, in bytes.
    private static let largestSize = 16 * 1_024 * 1_024

    /// Reads the file at a path.
    ///
    /// - Parameter rule: returns the field rule of a name; nil for an unknown name, which is an error.
    public static func read(
        _ path: String, rule: (_ name: String) -> FieldRule?
    ) throws(ConfigurationError) -> SchemaCatalog {
        let data: Data
        switch RegularFile.open(path, allowsInherited: true) {
        case .refused(let reason): throw ConfigurationError("the catalog \(path) was not read: \(reason)")
        case .open(let descriptor):
            let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            do {
                data = try file.read(upToCount: largestSize + 1) ?? Data()
            } catch {
                throw ConfigurationError("the catalog \(path) was not read: it cannot be read")
            }
        }
        guard data.count <= largestSize else {
            throw ConfigurationError("the catalog \(path) is larger than \(largestSize) bytes")
        }
        let catalog: SchemaCatalog
        do throws(WireError) {
            catalog = try CatalogCodec.decode(Array(data), rule: rule)
        } catch {
            throw ConfigurationError(
                "\(path) is not a valid catalog: \(error)",
                advice: "Schemas/catalog/catalog.schema.json describes the format")
        }
        if let problem = catalog.nameProblem {
            throw ConfigurationError(
                "\(path) is not a valid catalog: \(problem)", advice: "choose another name in the file")
        }
        return catalog
    }

    /// Returns the text of a file with these models.
    ///
    /// - Throws: an error with the field, if the file could not be read again.
    public static func text(_ catalog: SchemaCatalog) throws(ConfigurationError) -> String {
        do throws(WireError) {
            return String(decoding: try CatalogCodec.encode(catalog), as: UTF8.self)
        } catch {
            throw ConfigurationError("the models cannot be written to a file: \(error)")
        }
    }
}
