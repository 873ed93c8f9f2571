/// The description of the wire protocol.
package enum WireSchema {
    /// The OpenAPI document of the protocol, as JSON.
    package static var openAPI: [UInt8] { PackageResources.openapi_json }
}
