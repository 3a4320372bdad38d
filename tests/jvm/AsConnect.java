import java.nio.charset.StandardCharsets;
import java.util.Map;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.kafka.connect.data.ConnectSchema;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.json.JsonConverter;

/**
 * What Connect's own JsonConverter takes schemas for. In, on stdin, a JSON array of schema nodes; out, on stdout,
 * for each the node that it prints for the schema that it has read.
 */
public class AsConnect {

    public static void main(String[] args) throws Exception {
        ObjectMapper json = new ObjectMapper();
        JsonConverter converter = new JsonConverter();
        converter.configure(Map.of("schemas.enable", "true"), false);
        ArrayNode told = json.createArrayNode();
        for (JsonNode node : json.readTree(System.in)) {
            Schema schema = converter.asConnectSchema(node);
            schema.fields().forEach(f -> {
                if (f.schema().defaultValue() != null) {
                    ConnectSchema.validateValue(f.name(), f.schema(), f.schema().defaultValue());
                }
            });
            told.add(converter.asJsonSchema(schema));
        }
        System.out.write(json.writeValueAsString(told).getBytes(StandardCharsets.UTF_8));
        System.out.flush();
    }
}
