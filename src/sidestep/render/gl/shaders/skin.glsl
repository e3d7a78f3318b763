// A row of the table for each instance: three texels a bone (relative to the eye), a colour a slot, its number.
uniform sampler2D table;
uniform int first;   // row of the first instance of this call
uniform int bones;   // of a row
in vec3 in_place;
in ivec2 in_bones;
in vec2 in_weights;

mat3x4 blended(int row) {
    int a = 3 * in_bones.x, b = 3 * in_bones.y;
    mat3x4 turn = in_weights.x * mat3x4(
        texelFetch(table, ivec2(a, row), 0), texelFetch(table, ivec2(a + 1, row), 0), texelFetch(table, ivec2(a + 2, row), 0));
    if (in_weights.y != 0.0)
        turn += in_weights.y * mat3x4(
            texelFetch(table, ivec2(b, row), 0), texelFetch(table, ivec2(b + 1, row), 0), texelFetch(table, ivec2(b + 2, row), 0));
    return turn;
}
