import java.nio.charset.StandardCharsets;
import java.util.Map;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import io.apicurio.registry.utils.converter.avro.AvroData;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.json.JsonConverter;

/**
 * What AvroData makes of Connect schemas. In, on stdin, a JSON array of schema nodes; out, on stdout, for each the
 * Avro text of a row that has it as the field `c`.
 */
public class InAvro {

    public static void main(String[] args) throws Exception {
        ObjectMapper json = new ObjectMapper();
        JsonConverter converter = new JsonConverter();
        converter.configure(Map.of("schemas.enable", "true"), false);
        AvroData avro = new AvroData(1000);
        ArrayNode told = json.createArrayNode();
        for (JsonNode node : json.readTree(System.in)) {
            Schema row = SchemaBuilder.struct().name("srv.s.t.Value").field("c", converter.asConnectSchema(node)).build();
            told.add(avro.fromConnectSchema(row).toString());
        }
        System.out.write(json.writeValueAsString(told).getBytes(StandardCharsets.UTF_8));
        System.out.flush();
    }
}
