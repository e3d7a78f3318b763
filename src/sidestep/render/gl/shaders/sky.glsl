// As raster/surface.py.
uniform sampler2D noise;

float noise_at(vec2 cell) {
    return textureLod(noise, (cell + 0.5) / 256.0, 0.0).r;
}

vec3 sky_colour(vec3 d) {
    float high = max(d.z, 0.0), low = 1.0 - high, low2 = low * low;
    float share = low2 * low2 * (0.5 + 0.5 * low);
    float toward = dot(d, sun.xyz), p = max(toward, 0.3), p2 = p * p, p4 = p2 * p2, p8 = p4 * p4;
    float p16 = p8 * p8, p32 = p16 * p16;
    float glare = (0.10 * p8 + 0.22 * p4 * share + 0.30 * p32 * p32) * sun.w;
    vec3 colour = mix(zenith_rgb.rgb, horizon_rgb.rgb, share) + glare * sun_rgb.rgb;
    float value = noise_at(d.xy * (26.0 / (high + 0.12)));
    float dense = clamp((value - (1.0 - zenith_rgb.w)) / 0.28, 0.0, 1.0);
    dense = dense * dense * (3.0 - 2.0 * dense) * clamp((d.z - 0.015) * 3.0, 0.0, 1.0);
    colour += (cloud_rgb.rgb * (1.15 - 0.45 * value + glare) - colour) * dense;
    const float RIM = 0.99970149, DISC = 0.99987663; // cosines of 1.4 and 0.9 degrees
    float disc = clamp((toward - dense * 0.01 - RIM) / (DISC - RIM), 0.0, 1.0);
    return colour + disc * disc * sun.w * 3.0 * sun_rgb.rgb;
}
